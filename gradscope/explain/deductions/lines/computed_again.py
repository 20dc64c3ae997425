"""Whether two results were computed alike: by the same operators over the same tensors, some of them weights."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import dropwhile, zip_longest

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import draws
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site
from gradscope.store.asked import kept

_ALIKE = {"_log_softmax": "_softmax", "_safe_softmax": "_softmax"}
_LEARNED = ("addmm", "mm", "bmm", "convolution", "embedding")  # what computes with weights
_MOST = 4_000  # pairs of tensors that are compared for a loss
_AS_IT_IS = ("detach", "alias")
_TARGET_FIRST = "mul"  # as kl_div reads them


class Writes:
    """What was written in place, and when."""

    def __init__(self, flow: RecordedDataflow) -> None:
        self._storages: dict[int, list[int]] = defaultdict(list)
        self._tensors = flow.tensors
        for at in sorted(flow.written):
            for storage in flow.written[at]:
                self._storages[storage].append(at)
        self._steps = [at for at in sorted(flow.written) if is_optimizer(flow.operations[at])]

    def between(self, tensor: int, one: int, other: int) -> bool:
        """Whether anything wrote to the memory of a tensor from one operator to another, or weights were moved."""
        known = self._tensors.get(tensor)
        written = self._storages.get(known.storage, []) if known is not None else []
        ends = sorted((one, other))
        return any(bisect_right(places, ends[0]) != bisect_right(places, ends[1]) for places in (written, self._steps))


@kept
def writes_of(case: Case) -> Writes:
    """What was written in place in a run."""
    return Writes(dataflow(case))


def computed_again(case: Case, at: int, weighs: bool = True) -> tuple[FlowOperation, FlowOperation] | None:
    """The last operators (with weights, if it `weighs`) that computed what one compares, where both were made alike."""
    flow, writes = dataflow(case), writes_of(case)
    compares = flow.operations[at]
    reads = compares.reads[::-1] if base_name(compares.operation.name) == _TARGET_FIRST else compares.reads
    value, target = sorted(reads, key=lambda one: not one.requires_grad)
    waiting = [((value.tensor, at), (target.tensor, at))]
    seen: set[tuple[int, int]] = set()
    found: tuple[int, int] | None = None
    while waiting:
        (one, before), (other, until) = waiting.pop()
        if one == other and writes.between(one, before, until):
            return None
        if one == other:
            continue
        first, second = maker(flow, one, before), maker(flow, other, until)
        if first is None or second is None or len(seen) > _MOST:
            return None
        if first == second or (first, second) in seen:
            continue
        seen.add((first, second))
        pair = flow.operations[first], flow.operations[second]
        names = [base_name(each.operation.name) for each in pair]
        alike = len({_ALIKE.get(name, name) for name in names}) == 1 and not draws(pair[0].operation)
        if not alike or len(pair[0].reads) != len(pair[1].reads):
            return None
        if not weighs or names[0] in _LEARNED:
            found = max(found or (first, second), (first, second))
        both = zip(pair[0].reads, pair[1].reads, strict=True)
        waiting += [((a.tensor, first), (b.tensor, second)) for a, b in both]
    return None if found is None else (flow.operations[found[0]], flow.operations[found[1]])


def parting(one: FlowOperation, other: FlowOperation) -> list[Site]:
    """The lines of the second from where the calls that led to two operators part, the outermost first."""
    pairs = zip_longest(reversed(one.operation.stack), reversed(other.operation.stack))
    parted = dropwhile(lambda pair: pair[0] == pair[1], pairs)
    return [there for _, there in parted if there is not None and there.origin is Origin.USER]


def maker(flow: RecordedDataflow, tensor: int, before: int) -> int | None:
    """The operator that computed a tensor, which others may have only detached since."""
    at = flow.maker(tensor, before)
    while at is not None and base_name(flow.operations[at].operation.name) in _AS_IT_IS:
        tensor, before = flow.operations[at].reads[0].tensor, at
        at = flow.maker(tensor, before)
    return at
