"""GS758: a contrastive loss that scales its negatives by the temperature, and not its positives, or the other way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.similarities import SAME, Similarity, similarity
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 2
_JOINS, _ENDS = ("cat", "stack"), ("_log_softmax", "logsumexp", "log")
_MOVES = ("add", "sub", "masked_fill", "masked_fill_", "where", "_softmax")
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
    if _is_scaled_in_place(flow, plain[0], scaled):
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


def _is_scaled_in_place(flow: RecordedDataflow, plain: Similarity, scaled: list[Similarity]) -> bool:
    """Whether a score was taken out of what is scaled in place: then it is scaled as well."""
    edited = {storage for one in scaled for at in one.scalings for storage in flow.written.get(at, ())}
    known = (flow.tensors.get(made) for at in plain.steps for made in flow.operations[at].makes)
    return any(one is not None and one.storage in edited for one in known)


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
    """What is a softmax by hand, with the scores whose exponentials it adds up."""
    for at, operation in enumerate(flow.operations):
        name = base_name(operation.operation.name) if operation.backward is None else ""
        if name not in ("div", "log") or not operation.reads:
            continue
        above, below = operation.reads[0].tensor, operation.reads[-1].tensor
        added = _read_by(flow, below, at, "add")
        if len(added) == 2 and (name == "log" or above in added):
            scores = [_exponent(flow, one, at) for one in added]
        else:
            scores = [_exponent(flow, one, at) for one in (above, below)] if above != below else []
            scores = scores if _are_of_one_product(flow, scores) else []
        parts = [one for one in scores if one is not None]
        if len(parts) == 2:
            yield at, parts


def _are_of_one_product(flow: RecordedDataflow, scores: list[tuple[int, int] | None]) -> bool:
    """Whether scores are parts of one matrix: then the pair is in the sum below it as well."""
    made = [None if one is None else similarity(flow, *one) for one in scores]
    return len({-1 if one is None else one.steps[-1] for one in made} - {-1}) == 1 and None not in made


def _exponent(flow: RecordedDataflow, tensor: int, before: int) -> tuple[int, int] | None:
    """Whose exponential a tensor is, or the sum of them, and where it was taken."""
    for _ in range(_FAR):
        at = flow.maker(tensor, before)
        name = "" if at is None else base_name(flow.operations[at].operation.name)
        if at is None or name not in (*SAME, "sum", "mul", "exp"):
            return None
        learned = [one.tensor for one in flow.operations[at].reads if one.requires_grad]
        if len(learned) != 1:
            return None
        tensor, before = learned[0], at
        if name == "exp":
            return tensor, at
    return None


def _read_by(flow: RecordedDataflow, tensor: int, before: int, name: str) -> list[int]:
    """What the operator of a name that made a tensor has read."""
    at = flow.maker(tensor, before)
    if at is None or base_name(flow.operations[at].operation.name) != name:
        return []
    return [one.tensor for one in flow.operations[at].reads]
