"""GS758: a contrastive loss that scales its negatives by the temperature, and not its positives, or the other way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.similarities import SAME, Similarity, similarity
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 2
_JOINS, _ENDS = ("cat", "stack"), ("_log_softmax", "logsumexp")
_MOVES = ("add", "sub", "masked_fill", "masked_fill_", "where")
_FAR = 16  # tensors between scores that are joined and their softmax, at most

Pair = tuple[int, list[tuple[int, int]]]  # an operator that joins scores; each of them, and where it was read


def temperature_of_a_part(case: Case) -> Iterator[Cause]:
    """What it flags: of the scores that a contrastive loss compares, the negatives are divided by the temperature and
    the positive is not, or the other way around.

    Why: scores of different scale are compared. With the negatives alone divided, it is enough to push them below zero;
    the positive pair hardly gets a gradient, the loss falls, and what belongs together does not come together.

    Wrong:
        positive = (a * b).sum(-1, keepdim=True)
        negatives = a @ others.T / temperature
        loss = F.cross_entropy(torch.cat([positive, negatives], 1), target)

    Right:
        positive = (a * b).sum(-1, keepdim=True)
        negatives = a @ others.T
        loss = F.cross_entropy(torch.cat([positive, negatives], 1) / temperature, target)

    Do instead: divide what was joined, once.

    How it is found: one score of each sample is joined with several, or their exponentials are added up, for a softmax
    without a further scale; both are products of the same vector with others that are no parameters, and a number
    scales one product only. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    found: dict[Site, Cause] = {}
    for at, parts in (*_joined(flow), *_added(flow)):
        if _differ_in_number(flow, parts):
            cause = _cause(flow, at, [similarity(flow, tensor, before) for tensor, before in parts])
            if cause is not None and cause.site is not None:
                times[cause.site] += 1
                found.setdefault(cause.site, cause)
    yield from (cause for site, cause in found.items() if times[site] >= _TIMES)


def _cause(flow: RecordedDataflow, at: int, parts: list[Similarity | None]) -> Cause | None:
    """What to tell of joined scores, of which some are scaled."""
    known = [one for one in parts if one is not None]
    scaled, plain = [one for one in known if one.scalings], [one for one in known if not one.scalings]
    if not scaled or not plain or not set.intersection(*(one.vectors for one in known)):
        return None
    joined, steps = flow.operations[at].site, [flow.operations[one].site for one in plain[0].steps]
    site = next((one for one in steps if one != joined), joined)
    place = flow.operations[scaled[0].scalings[0]].site
    return Cause(
        "these scores are compared with others that a temperature scales, and are not scaled themselves",
        site,
        () if place in (None, site) else (Related("called_at", place, "the others are scaled"),),
        certain=False,
    )


def _differ_in_number(flow: RecordedDataflow, parts: list[tuple[int, int]]) -> bool:
    """Whether one score of each sample stands beside several: else they may be scores of different kinds."""
    sizes = [_size(flow.shape(tensor)) for tensor, _ in parts]
    return min(sizes) < max(sizes)


def _size(shape: tuple[int, ...]) -> int:
    return shape[-1] if len(shape) > 1 else 1


def _joined(flow: RecordedDataflow) -> Iterator[Pair]:
    """The operators that join learned scores for a softmax, with what they join."""
    for at, operation in enumerate(flow.operations):
        is_join = operation.backward is None and base_name(operation.operation.name) in _JOINS
        if is_join and _is_compared(flow, operation.makes[0]):
            yield at, [(one.tensor, at) for one in operation.reads]


def _is_compared(flow: RecordedDataflow, tensor: int) -> bool:
    """Whether a softmax reads scores as they are, up to their form."""
    waiting, seen = [tensor], {tensor}
    while waiting and len(seen) < _FAR:
        for at in flow.readers.get(waiting.pop(), ()):
            operation = flow.operations[at]
            name = base_name(operation.operation.name)
            if name in _ENDS and operation.backward is None:
                return True
            follows = name in (*SAME, *_MOVES) and operation.backward is None
            new = [made for made in operation.makes if follows and made not in seen]
            seen.update(new)
            waiting += new
    return False


def _added(flow: RecordedDataflow) -> Iterator[Pair]:
    """The quotients of an exponential by the sum of it and of others, with the scores that they are of."""
    for at, operation in enumerate(flow.operations):
        is_quotient = operation.backward is None and base_name(operation.operation.name) == "div"
        if not is_quotient or len(operation.reads) != 2:
            continue
        above, below = (one.tensor for one in operation.reads)
        added = _read_by(flow, below, at, "add")
        if above in added and len(added) == 2:
            parts = [_exponent(flow, one, at) for one in added]
            if None not in parts:
                yield at, [one for one in parts if one is not None]


def _exponent(flow: RecordedDataflow, tensor: int, before: int) -> tuple[int, int] | None:
    """Whose exponential a tensor is, or the sum of them, and where it was taken."""
    for _ in range(_FAR):
        at = flow.maker(tensor, before)
        name = "" if at is None else base_name(flow.operations[at].operation.name)
        if at is None or name not in (*SAME, "sum", "exp"):
            return None
        tensor, before = flow.operations[at].reads[0].tensor, at
        if name == "exp":
            return tensor, at
    return None


def _read_by(flow: RecordedDataflow, tensor: int, before: int, name: str) -> list[int]:
    """What the operator of a name that made a tensor has read."""
    at = flow.maker(tensor, before)
    if at is None or base_name(flow.operations[at].operation.name) != name:
        return []
    return [one.tensor for one in flow.operations[at].reads]
