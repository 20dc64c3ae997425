"""Goes back from a tensor over the operators that made it, as far as a question wants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.explain.evidence.forms import WIDENED
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name

_KEEPS = (*WIDENED, "add", "mean", "sum", "stack", "cat", "div")
_TURNS = ("neg", "rsub")


def trail(
    flow: RecordedDataflow,
    tensor: int,
    before: int,
    follow: Callable[[FlowOperation], Iterable[int]],
    most: int,
) -> Iterator[tuple[int, FlowOperation]]:
    """The operators that made a tensor, the nearest first, each with its place: of each those that made what `follow`
    names of what it reads.

    Each tensor is gone through once, and no more than `most`: sums that read one another are many ways and few tensors.
    """
    waiting, seen = deque([(tensor, before)]), {tensor}
    while waiting and len(seen) <= most:
        one, until = waiting.popleft()
        at = flow.maker(one, until)
        if at is not None:
            yield at, flow.operations[at]
            new = [read for read in follow(flow.operations[at]) if read not in seen]
            seen.update(new)
            waiting.extend((read, at) for read in new)


def signed_terms(flow: RecordedDataflow, root: int, wanted: Container[int]) -> Iterator[tuple[int, int]]:
    """The wanted operators that a tensor is a sum or a mean of, each with its place and the sign that it has there."""
    waiting, seen = [(root, len(flow.operations), 1)], {root}
    while waiting:
        tensor, before, sign = waiting.pop()
        at = flow.maker(tensor, before)
        if at is None:
            continue
        if at in wanted:
            yield at, sign
            continue
        operation = flow.operations[at]
        for place, read in enumerate(operation.reads):
            turned = _sign(base_name(operation.operation.name), len(operation.reads), place)
            if turned and read.requires_grad and read.tensor not in seen:
                seen.add(read.tensor)
                waiting.append((read.tensor, at, sign * turned))


def _sign(name: str, reads: int, place: int) -> int:
    """With which sign an operator passes on what it reads; 0 where that is not known."""
    if name in _TURNS and reads == 1:
        return -1
    if name == "sub":
        return -1 if place else 1
    return 1 if name in _KEEPS and (name != "div" or reads == 1) else 0
