"""A backward that is called for the gradient of an input, whose gradients of the weights are left for the step.

It is told by what becomes of that gradient: new inputs of the training's own loss are made of it, as in an attack. Two
losses that are both trained do not read one another's gradients; and where a loss is given a gradient with its graph,
or that of a weight, both may be meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, states_at, steps_of
from gradscope.explain.deductions.steps.probing_backwards import is_elsewhere
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.timeline import Moment, is_whole, timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import GradientState
from gradscope.model.graph import Backward
from gradscope.model.site import Stack
from gradscope.model.training import STEP, ZERO_GRAD
from gradscope.store.asked import kept

_TIMES = 2  # steps that use both
_EMPTY = (GradientState.NONE, GradientState.ZERO)
_ADVICE = (
    "take the gradient by torch.autograd.grad(loss, input) or loss.backward(inputs=[input]), or clear the gradients "
    "behind this backward"
)


@dataclass(frozen=True, slots=True)
class _Attack:
    """Before a step: the first of `calls` backward calls of one line for an input, and `own`, which adds to them."""

    first: Backward
    last: Backward
    calls: int
    own: Backward


def left_by_attacks(case: Case) -> Iterator[Cause]:
    """The backward calls for an input to whose gradients of the weights the training adds, one for each line."""
    flow = dataflow(case)
    for timeline in timelines(case) if is_whole(case) else ():
        for optimizer in () if timeline.has_closures else steps_of(case):
            windows = timeline.windows(optimizer, first=True)
            found = [one for one in map(_attack, windows) if one is not None]
            lines = {(one.first.stack, one.own.stack) for one in found}
            if len(found) < _TIMES or len(lines) > 1 or found[0].first.site is None:
                continue
            names = next((known for one in found if (known := _shared(case, optimizer, one))), [])
            made = (one for one in found if names and _is_made_of_its_gradient(case, flow, one))
            proven = next(made, None)
            if proven is not None:
                yield _cause(flow, found, proven, names)


def _attack(window: tuple[Moment, ...]) -> _Attack | None:
    """The calls before a step up to the last one, where nothing is cleared or stepped since the first of them."""
    calls = [at for at, one in enumerate(window) if one.backward is not None]
    if not calls or any(one.has(STEP) for one in window) or any(one.has(ZERO_GRAD) for one in window[calls[0] :]):
        return None
    backwards = [one.backward for one in window if one.backward is not None]
    first = backwards[0]
    alike = next((count for count, one in enumerate(backwards) if one.stack != first.stack), 0)
    if not alike or any(one.create_graph for one in backwards[:alike]):
        return None
    return _Attack(first, backwards[alike - 1], alike, backwards[alike])


def _shared(case: Case, optimizer: int, one: _Attack) -> list[str]:
    """The weights of an optimizer that had no gradient before the calls, and one when the training's own began."""
    states, held = states_at(case), held_by(case, optimizer)
    before, after = states.get(one.first.number, {}), states.get(one.own.number, {})
    reached = [tensor for tensor in held if tensor in before and tensor in after]
    left = all(before[each] in _EMPTY for each in reached)
    return [held[each] for each in reached if left and after[each] is GradientState.VALUES]


def _is_made_of_its_gradient(case: Case, flow: RecordedDataflow, one: _Attack) -> bool:
    """Whether the loss of the training's own backward is computed of the gradient of an input of the last call."""
    start = _begins(case).get(one.last.number)
    shapes = {flow.shape(leaf) for leaf in _inputs(case, one.last.stack)} - _weights(case)
    if start is None or not shapes:
        return False
    roots = [root.tensor for root in flow.roots if root.backward == one.own.number]
    return _leads_to(flow, roots, one.last.number, start, shapes)


def _leads_to(
    flow: RecordedDataflow, roots: Iterable[int], backward: int, start: int, shapes: set[tuple[int, ...]]
) -> bool:
    """Whether a way back from some tensors comes to what a backward made, of one of these shapes.

    An input that is a leaf may be moved in place, which is no initialisation here.
    """
    waiting = [(root, len(flow.operations)) for root in roots]
    seen, walked = set[int](), dict[int, int]()
    while waiting:
        tensor, before = waiting.pop()
        known = flow.tensors.get(tensor)
        if tensor in seen or known is None or known.parameter:
            continue
        seen.add(tensor)
        moved = (at for at in flow.makers.get(tensor, ()) if at < before and flow.sets_leaf(at, tensor))
        for at in (*flow.sources(tensor, before, walked), *moved):
            operation = flow.operations[at]
            if operation.backward == backward and known.type.shape in shapes:
                return True
            if operation.backward is None and at > start:
                waiting += [(read.tensor, at) for read in operation.reads]
    return False


@kept
def _begins(case: Case) -> dict[int, int]:
    """The first operator that ran in each backward, where they were followed."""
    found: dict[int, int] = {}
    for at, operation in enumerate(dataflow(case).operations):
        if operation.backward is not None:
            found.setdefault(operation.backward, at)
    return found


@kept
def _weights(case: Case) -> set[tuple[int, ...]]:
    """The shapes of parameters, and of what optimizers hold."""
    flow = dataflow(case)
    held = {tensor for optimizer in steps_of(case) for tensor in held_by(case, optimizer)}
    parameters = {tensor.number for tensor in flow.tensors.values() if tensor.parameter}
    return {flow.shape(one) for one in held | parameters}


def _inputs(case: Case, line: Stack) -> list[int]:
    """The leaves that the backward calls of a line reached and that are no parameters, in those that were looked at."""
    flow, states = dataflow(case), states_at(case)
    calls = (call.number for call in case.backwards() if call.stack == line)
    known = (flow.tensors.get(leaf) for call in calls for leaf in states.get(call, {}))
    return [one.number for one in known if one is not None and not one.parameter]


def _cause(flow: RecordedDataflow, found: list[_Attack], proven: _Attack, names: list[str]) -> Cause:
    is_sure = is_elsewhere(proven.first, proven.own.stack) and _is_for_the_input_alone(flow, found)
    return Cause(
        f"this backward is for the gradient of an input, of which the next inputs are made, and leaves gradients in "
        f"{several(names)}: the training's own adds to them, and {len(found)} steps use both",
        proven.first.site,
        (Related("used_at", proven.own.site, "the backward that adds to them"),),
        certain=is_sure,
        severity=Severity.WARNING if is_sure else None,
        tensor=names[0],
        backward=proven.first.number,
        advice=_ADVICE,
    )


def _is_for_the_input_alone(flow: RecordedDataflow, found: list[_Attack]) -> bool:
    """Whether nobody looks at the loss of an attack; and someone at the training's, or it is several of those.

    What comes after the last backward that was followed is not known: the training's loss may be read there.
    """
    read = {root.backward: _is_read(flow, root.tensor) for root in flow.roots}
    followed = [one for one in found if {one.last.number, one.own.number} <= read.keys()]
    looked_at = any(read[one.own.number] for one in followed)
    return (looked_at or found[0].calls > 1) and not any(read[one.last.number] for one in followed)


def _is_read(flow: RecordedDataflow, root: int) -> bool:
    """Whether anything outside of backward calls reads a loss, or the number of which it is a multiple."""
    numbers, waiting = {root}, [root]
    while waiting:
        for at in flow.makers.get(waiting.pop(), ()):
            reads = flow.operations[at].reads
            new = {one.tensor for one in reads if one.requires_grad and not flow.shape(one.tensor)} - numbers
            numbers |= new
            waiting += new
    readers = (flow.operations[at] for one in numbers for at in flow.readers.get(one, ()))
    return any(one.backward is None and numbers.isdisjoint(one.makes) for one in readers)
