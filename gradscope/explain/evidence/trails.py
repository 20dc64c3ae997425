"""Goes back from a tensor over the operators that made it, as far as a question wants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.flow import FlowOperation


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
