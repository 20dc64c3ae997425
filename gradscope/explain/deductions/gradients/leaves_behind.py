"""What a value was computed from, as far as autograd goes."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.explain.evidence.dataflow import RecordedDataflow


@dataclass(frozen=True, slots=True)
class LeavesBehind:
    """The leaves that a value trains, and the tensors on its way that need no gradient."""

    trained: frozenset[int]
    frozen: frozenset[int]


def leaves_behind(flow: RecordedDataflow, tensor: int, before: int) -> LeavesBehind:
    """The leaves and constants behind a tensor, over the operators before a place."""
    trained: set[int] = set()
    frozen: set[int] = set()
    waiting, seen = [(tensor, before)], set()
    walked: dict[int, int] = {}
    while waiting:
        one, end = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for at in flow.sources(one, end, walked):
            if flow.operations[at].backward is None and flow.operations[at].operation.grad:
                reads = flow.operations[at].reads
                trained |= {read.tensor for read in reads if read.leaf and read.requires_grad}
                frozen |= {read.tensor for read in reads if not read.requires_grad}
                waiting += [(read.tensor, at) for read in reads if read.requires_grad]
    return LeavesBehind(frozenset(trained), frozenset(frozen))
