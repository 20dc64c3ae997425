"""GS849: gradients that the loss of another optimizer leaves, and a step uses along with its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.shared_subgraph import below
from gradscope.explain.deductions.steps.attacking_backwards import left_by_attacks
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, is_read_before, steps_of
from gradscope.explain.deductions.steps.probing_backwards import left_by_probes
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation
from gradscope.explain.evidence.timeline import Moment, is_whole, timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState, LeafGradient
from gradscope.model.graph import Backward, Graph
from gradscope.model.site import Origin, Stack
from gradscope.model.training import STEP, ZERO_GRAD
from gradscope.store.asked import kept

_TIMES = 3  # of the same, before anything is said
_AROUND_WEIGHTS = ("TBackward0", "TransposeBackward0", "ToCopyBackward0")  # between a layer and its weight
_EMPTY = (GradientState.NONE, GradientState.ZERO)


@dataclass(frozen=True, slots=True)
class _Left:
    """In a step: backward `others`, whose gradients optimizer `other` used where it `stepped`, and `own`, which adds
    to what is left if nothing is cleared in between."""

    others: Backward
    other: int
    stepped: Stack
    own: Backward
    is_cleared: bool


def left_by_another(case: Case) -> Iterator[Cause]:
    """What it flags: a step that uses gradients which another optimizer's loss left in its parameters.

    Why: the backward of a generator's loss goes through the discriminator and fills its gradients too. Unless they are
    cleared before the discriminator's own backward, its step goes half the generator's way.

    Wrong:
        generator_loss.backward()
        generator_optimizer.step()
        discriminator_loss.backward()
        discriminator_optimizer.step()
        discriminator_optimizer.zero_grad()

    Right:
        generator_loss.backward()
        generator_optimizer.step()
        discriminator_optimizer.zero_grad()
        discriminator_loss.backward()
        discriminator_optimizer.step()

    Do instead: clear right before the backward whose gradients are meant.

    How it is found: in every step of an optimizer that follows one of another, a backward gives fresh gradients to its
    parameters on the way to those of the other, which then steps; the next backward reaches none of those, and adds to
    what is there. A hint, for both losses may be meant. Nothing is said where the two lie side by side, or the other
    behind.
    Named is the zero_grad() where it stands behind the optimizer's own step, else the backward that adds.
    Or, of one optimizer: now and then a backward that another function calls comes before that of the training, with
    nothing cleared in between: a warning where training is lost since the first of these, and went well before.
    Or a backward that reaches an input comes before that of the training, with nothing cleared in between; it found no
    gradients in the weights, the other found some, and the loss of that one is computed of the input's gradient, as
    after an attack: a warning where another function calls it, whose loss nobody reads.
    """
    attacks = tuple(left_by_attacks(case))
    yield from attacks
    yield from (one for one in left_by_probes(case) if one.site not in {attack.site for attack in attacks})
    optimizers = steps_of(case)
    for optimizer in optimizers if len(optimizers) > 1 and is_whole(case) else ():
        found = defaultdict[tuple[Stack, Stack], list[_Left]](list)
        for step in _steps(case, optimizer):
            for one in _left(step, optimizer):
                found[one.stepped, creation(case, one.other)].append(one)
        yield from (cause for left in found.values() for cause in _told(case, optimizer, left))


def _told(case: Case, optimizer: int, left: list[_Left]) -> Iterator[Cause]:
    """What is said of the steps before which the optimizers of one line had stepped in one place."""
    lines = {(one.others.stack, one.own.stack) for one in left}
    if len(left) < _TIMES or len(lines) > 1 or any(one.is_cleared for one in left):
        return
    looked = _looked(case).keys()
    known = [one for one in left if {one.others.number, one.own.number} <= looked and _reached(case, optimizer, one)]
    names = [_names(case, optimizer, one) for one in known]
    if names and all(names) and not is_read_before(case, optimizer):
        yield _cause(case, optimizer, known[0], names[0])


def _cause(case: Case, optimizer: int, left: _Left, names: list[str]) -> Cause:
    calls = [call for timeline in timelines(case) for _, call in timeline.of(ZERO_GRAD) if call.optimizer == optimizer]
    cleared = calls[0].site if calls else None
    early = cleared if _clears_behind_its_step(case, optimizer) else None
    leaves = Related("cause_at", left.others.site, "the backward that leaves them")
    related = (Related("called_at", cleared, "zero_grad()"),) if cleared is not None else ()
    adds = (Related("used_at", left.own.site, "the backward that adds to them"),)
    message = "this adds to the gradients that another loss has left in"
    if early is not None:
        message = "this clears too early: another loss leaves gradients behind it, to which its own backward adds, in"
    return Cause(
        f"{message} {several(names)}: the step uses the sum of both",
        early or left.own.site,
        (leaves, *(adds if early is not None else related)),
        certain=False,
        tensor=names[0],
        backward=left.own.number,
    )


def _clears_behind_its_step(case: Case, optimizer: int) -> bool:
    """Whether all that clears an optimizer's gradients is one zero_grad() that stands behind its only step."""
    calls = [call for timeline in timelines(case) for _, call in timeline.of(STEP, ZERO_GRAD)]
    own = {(call.kind, call.stack) for call in calls if call.optimizer == optimizer}
    stacks = dict(own)
    return len(own) == len(stacks) == 2 and _stands_behind(stacks[ZERO_GRAD], stacks[STEP])


def _stands_behind(stack: Stack, other: Stack) -> bool:
    """Whether one call stands behind another in the innermost function that makes both."""
    both = zip(*([one for one in reversed(each) if one.origin is Origin.USER] for each in (stack, other)), strict=False)
    apart = next(((one, before) for one, before in both if one != before), None)
    return apart is not None and apart[0].is_in_function_of(apart[1]) and apart[0].line > apart[1].line


def _steps(case: Case, optimizer: int) -> Iterator[tuple[Moment, ...]]:
    """What comes before each step of an optimizer, since the one before it or the beginning."""
    for timeline in timelines(case):
        places = [at for at, call in timeline.of(STEP) if call.optimizer == optimizer]
        yield from (timeline.moments[first + 1 : last] for first, last in pairwise([-1, *places]))


def _left(moments: tuple[Moment, ...], optimizer: int) -> list[_Left]:
    """What the backward calls of a step's own may have added to: one for each other optimizer that stepped before.

    Those of its own come after the last step of another; what they add to was there when the first of them began.
    """
    calls = [at for at, one in enumerate(moments) if one.backward is not None]
    steps = [at for at, one in enumerate(moments) if one.has(STEP) and calls and calls[0] < at < calls[-1]]
    own = next((at for at in calls if steps and at > steps[-1]), None)
    found = ((at, _first_of_line(moments, at, optimizer)) for at in steps)
    return [left for at, first in found if own is not None and (left := _left_by(moments, (first, at, own), optimizer))]


def _left_by(moments: tuple[Moment, ...], places: tuple[int, int, int], optimizer: int) -> _Left | None:
    """What one other optimizer's backward, its step and the backward of the step's own are."""
    first, at, own = places
    call, others, adding = moments[at].call, moments[first].backward, moments[own].backward
    if call is None or call.optimizer is None or others is None or adding is None:
        return None
    is_cleared = any(one.has(ZERO_GRAD) and _is_of(one, optimizer) for one in moments[first:own])
    return _Left(others, call.optimizer, call.stack, adding, is_cleared)


def _first_of_line(moments: tuple[Moment, ...], step: int, optimizer: int) -> int:
    """The first of the backward calls of one line before another's step, of which the optimizer's own clears none."""
    found: int | None = None
    for at in range(step - 1, -1, -1):
        one, met = moments[at], None if found is None else moments[found]
        if (one.has(ZERO_GRAD) and _is_of(one, optimizer)) or (
            one.backward is not None and met is not None and one.stack != met.stack
        ):
            break
        found = at if one.backward is not None else found
    return step if found is None else found


def _is_of(moment: Moment, optimizer: int) -> bool:
    return moment.call is not None and moment.call.optimizer == optimizer


@kept
def _looked(case: Case) -> dict[int, dict[int, LeafGradient]]:
    """The leaves that a backward reached and what their gradients held when it began, by tensor."""
    found: dict[int, dict[int, LeafGradient]] = defaultdict(dict)
    for leaf in case.leaf_gradients():
        found[leaf.backward][leaf.tensor] = leaf
    return found


def _reached(case: Case, optimizer: int, left: _Left) -> set[int]:
    """The parameters that both backward calls reach: none where the other loss has no part of them yet, or now."""
    before, after = _looked(case)[left.others.number], _looked(case)[left.own.number]
    return held_by(case, optimizer).keys() & before.keys() & after.keys()


def _names(case: Case, optimizer: int, left: _Left) -> list[str]:
    """The parameters in which gradients were left; none if what is known speaks against it."""
    held, others = held_by(case, optimizer), held_by(case, left.other)
    before, after = _looked(case)[left.others.number], _looked(case)[left.own.number]
    both = [tensor for tensor in held if tensor in _reached(case, optimizer, left)]
    fresh = all(before[one].state in _EMPTY and after[one].state is GradientState.VALUES for one in both)
    if not fresh or others.keys() & held.keys() or others.keys() & after.keys():
        return []
    own_nodes = {before[one].node for one in both}
    other_nodes = {before[one].node for one in others if one in before}
    return [held[one] for one in both] if _leads(case.graph(left.others.number), own_nodes, other_nodes) else []


def _leads(graph: Graph, first: set[int], second: set[int]) -> bool:
    """Whether the layers of the first leaves lie between the loss and the second's, and not the other way round."""
    return bool(_behind(graph, first) & second) and not _behind(graph, second) & first


def _behind(graph: Graph, leaves: set[int]) -> set[int]:
    """The nodes to which gradients go from the layers of some leaves."""
    sources: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    layers: set[int] = set()
    for leaf in leaves:
        for source in sources[leaf]:
            layers.update(sources[source] if graph.nodes[source].name in _AROUND_WEIGHTS else [source])
    return {node.id for layer in layers for node in below(graph, layer)}
