"""GS850: a state that is detached at each pass of a loop whose passes one backward goes through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Stack

_PASSES = 3  # of one loop
_ADDS = ("add", "add_", "sub", "sub_")
_STRIDES = (1, 2)  # tensors that one line detaches at each pass: an LSTM has two


def cut_in_loop(case: Case) -> Iterator[Cause]:
    """What it flags: a state that is detached at each pass of a loop, where one backward goes through all passes.

    Why: what a pass hands to the next one has no graph then. Each learns from its own input alone, and nothing learns
    to remember. A detach that is to bound the graph belongs behind the loop, where one chunk of a long sequence ends.

    Wrong:
        for x in chunk:
            state = cell(x, state)
            outputs.append(state)
            state = state.detach()

    Right:
        for x in chunk:
            state = cell(x, state)
            outputs.append(state)
        state = state.detach()

    Do instead: detach after the loop; leave it where each pass is meant to learn by itself.

    How it is found: between two backward calls the line detaches three times or more, each time something that was
    computed from what it detached before and that goes into the loss, and nothing with a graph goes from one pass to
    the next beside it but a loss that adds up. A hint, because a program may mean that.
    """
    flow = dataflow(case)
    for detached in _detached(flow):
        passes = next((some for some in _ways(detached) if _is_cut(flow, some)), None)
        if passes is not None:
            site = flow.operations[passes[0]].site
            name = source_lines.assigned(case, site)
            what = f"`{name}`" if name else "a state"
            yield Cause(
                f"{what} is detached at each pass of this loop, {len(passes)} times in one backward's graph: no "
                "gradient goes from one pass to the one before",
                site,
            )
            return


def _detached(flow: RecordedDataflow) -> Iterator[list[int]]:
    """The operators that detach what has a graph, by line, between two backward calls."""
    found: dict[Stack, list[int]] = defaultdict(list)
    for at, operation in enumerate(flow.operations):
        if operation.backward is not None:
            yield from found.values()
            found.clear()
        elif base_name(operation.operation.name) == "detach" and any(read.requires_grad for read in operation.reads):
            before = found[operation.operation.stack]
            before += [] if _is_view_of_last(flow, before, at) else [at]
    yield from found.values()


def _is_view_of_last(flow: RecordedDataflow, before: list[int], at: int) -> bool:
    """Whether it detaches the memory that the line has just detached, as `.data = value.detach()` does: one pass."""
    memory = {flow.tensors[one].storage for one in flow.operations[at].makes if one in flow.tensors}
    last = flow.operations[before[-1]].makes if before else ()
    return any(flow.tensors[one].storage in memory for one in last if one in flow.tensors)


def _ways(detached: list[int]) -> Iterator[Sequence[int]]:
    """Those of one tensor at each pass, as far as the count is enough."""
    for stride in _STRIDES:
        for start in range(stride):
            if len(detached[start::stride]) >= _PASSES:
                yield detached[start::stride]


def _is_cut(flow: RecordedDataflow, passes: Sequence[int]) -> bool:
    """Whether each detaches what was computed from the one before, and nothing else connects the passes."""
    made: set[int] = set()  # in the loop, in passes that are over
    for first, second in pairwise(passes):
        within = flow.operations[first + 1 : second]
        if any(_is_handed_on(flow, operation, made, second) for operation in within):
            return False
        reached = set(flow.operations[first].makes)
        for operation in within:
            if any(one.tensor in reached for one in operation.reads):
                reached.update(operation.makes)
        state = flow.operations[second].reads[0].tensor
        if state not in reached or state not in flow.useful:
            return False
        made.update(tensor for operation in within for tensor in operation.makes)
    return True


def _is_handed_on(flow: RecordedDataflow, operation: FlowOperation, made: set[int], until: int) -> bool:
    """Whether an operator takes something with a graph out of an earlier pass, other than a loss that it adds to."""
    read = [one.tensor for one in operation.reads if one.requires_grad and not one.leaf and one.tensor in made]
    return bool(read) and not _adds_up(flow, operation, until)


def _adds_up(flow: RecordedDataflow, operation: FlowOperation, until: int) -> bool:
    """Whether an operator adds numbers to one that nothing but such sums reads up to the end of the pass."""
    readers = (flow.operations[at] for made in operation.makes for at in flow.readers.get(made, ()) if at < until)
    return all(
        base_name(one.operation.name) in _ADDS and not any(flow.shape(made) for made in one.makes)
        for one in (operation, *(one for one in readers if one.makes and base_name(one.operation.name) != "detach"))
    )
