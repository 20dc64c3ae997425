"""GS739: gradients that grow or shrink from call to call of the same line, on their way back through time."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import first_values
from gradscope.explain.deductions.numbers.chains_through_time import Chain, exploding_chain, vanishing_chain
from gradscope.explain.deductions.numbers.losses_over_time import has_fallen
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.words import line_of
from gradscope.model.finding import Related, Severity


def through_time(case: Case) -> Iterator[Cause]:
    """What it flags: a gradient that grows ten thousandfold, or shrinks below what a sum in float32 can hold, from call
    to call of one line: a recurrent cell, a scan, an integrator.

    Why: going back through time, the gradient is multiplied by the same weights again and again. Where they are a
    little too large it explodes: the first steps throw everything about, and clipping then holds all others still.
    Where they are too small, or a tanh is saturated, it vanishes: what is far back is not learnt.

    Wrong:
        nn.init.normal_(self.recurrent)

    Right:
        nn.init.orthogonal_(self.recurrent)

    Do instead: initialise the recurrent weights so that they keep the length of a vector (orthogonal, or the identity),
    bound the factor of a scan below 1, start the forget gate's bias at 1, use a gated cell, normalise, or go back fewer
    steps.

    How it is found: in the steps 0, 1, 2, 4, 8, ... the gradients of some nodes of each line that made eight or more
    are measured, where each of them was computed from the next. In the last steps measured it grows, or in all of them
    it shrinks, about as much with every call. The line named gives the weight that multiplies it its values; without
    one, it is the line of the cell. That a gradient vanishes is a hint, where the loss has not halved: the program may
    need what is near only.
    """
    explodes = exploding_chain(case)
    chain = explodes or (None if has_fallen(case) else vanishing_chain(case))
    if chain is not None:
        yield _cause(case, chain, explodes is not None)


def _cause(case: Case, chain: Chain, explodes: bool) -> Cause:
    latest, weight = chain.nodes[0], chain.weight
    given = None if weight is None else first_values(case, weight)
    here = given is None or latest.site is None or given == latest.site
    line = "this line" if here or latest.site is None else line_of(latest.site, given)
    return Cause(
        f"the gradient {'explodes' if explodes else 'vanishes'} on its way back through time: {chain.sizes[0]:.1e} at "
        f"the last call of {line} and {chain.sizes[-1]:.1e} at the first that was measured; "
        f"{weight or 'it'} {'multiplies it' if weight else 'is multiplied'} each time",
        given or latest.site,
        () if here else (Related("saved_at", latest.site, latest.name),),
        certain=False,
        severity=Severity.WARNING if explodes else Severity.INFO,
        node=latest.id,
        tensor=weight,
        module=None if latest.module is None else latest.module.label,
        backward=chain.backward,
    )
