"""GS892: a term that is detached from what its loss trains, and moves another optimizer's parameters only."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.terms_of_others import terms_of_others
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related


def term_trains_nothing(case: Case) -> Iterator[Cause]:
    """What it flags: a term of a loss whose gradients go to another optimizer's parameters alone, and are never used.

    Why: a generator learns from its adversary through what it gives to it. A helper that detaches its input, as the
    adversary's own step needs it, leaves the generator's step a number to print: it trains the adversary at most, and
    the gradients of that one are cleared before it steps.

    Wrong:
        def judge(z):
            return adversary(z.detach())
        loss = task + criterion(judge(encoder(x)), fooled)
        loss.backward()
        encoder_optimizer.step()

    Right:
        loss = task + criterion(adversary(encoder(x)), fooled)

    Do instead: detach in the adversary's own step alone; leave the term out where it is only to be seen.

    How it is found: each time, the optimizer that steps after the backward holds nothing that the term has a graph to;
    those that do hold it never step before their gradients are cleared. The term is computed from a detached tensor
    that came from what is stepped. Where that tensor goes into another loss, too, the line is the term's own. A hint:
    the term may be there to be looked at.
    """
    for one in terms_of_others(case):
        names = list(dict.fromkeys(one.names))
        detached = "it is detached here from what steps after its backward"
        if one.shared:
            detached = "what it is computed from here was detached for another loss"
        yield Cause(
            f"a term of the loss trains nothing: {detached}, and the gradients that it gives to {several(names)} are "
            "cleared before they are used",
            one.cut,
            (Related("called_at", one.backward, "the backward"),) if one.backward is not None else (),
            certain=False,
            tensor=names[0],
        )
