"""GS850: a state that is detached at each pass of a loop whose passes one backward goes through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.operation import base_name
from gradscope.model.site import Stack

_PASSES = 3  # of one loop
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
    the next beside it. A hint, because a program may mean that.
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
        read = [one for operation in within for one in operation.reads]
        if any(one.requires_grad and not one.leaf and one.tensor in made for one in read):
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
