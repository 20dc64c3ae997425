"""Whether two results were computed alike: by the same operators over the same tensors, some of them weights."""

from __future__ import annotations

from itertools import dropwhile, zip_longest

from gradscope.explain.evidence.chance import draws
from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_ALIKE = {"_log_softmax": "_softmax", "_safe_softmax": "_softmax"}
_LEARNED = ("addmm", "mm", "bmm", "convolution", "embedding")  # what computes with weights
_MOST = 4_000  # pairs of tensors that are compared for a loss
_AS_IT_IS = ("detach", "alias")


def computed_again(flow: RecordedDataflow, at: int, weighs: bool = True) -> tuple[FlowOperation, FlowOperation] | None:
    """The last operators (with weights, if it `weighs`) that computed what one compares, where both were made alike."""
    value, target = sorted(flow.operations[at].reads, key=lambda one: not one.requires_grad)
    waiting = [((value.tensor, at), (target.tensor, at))]
    seen: set[tuple[int, int]] = set()
    found: tuple[int, int] | None = None
    while waiting:
        (one, before), (other, until) = waiting.pop()
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
        reads = zip(pair[0].reads, pair[1].reads, strict=True)
        waiting += [((a.tensor, first), (b.tensor, second)) for a, b in reads]
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
