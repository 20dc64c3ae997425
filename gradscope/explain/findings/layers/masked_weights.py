"""GS889: a mask of zeros on the wrong side of a softmax: behind it, or before it, where exp(0) is a share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.zeroed_scores import SOFTMAX, is_of_data, is_summed, zeroed_scores
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import FORMS
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 2
_MASKS = ("masked_fill", "masked_fill_", "mul", "mul_", "where")
_FORMS = (*FORMS, "clone", "slice")
_BEFORE = (*_FORMS, "div", "mul", "sum", "bmm", "_to_copy", "_softmax")  # between scores and where they were made
_PRODUCTS, _FAR = ("bmm", "mm"), 16
_BEHIND = "these weights are set to zero behind their softmax: what is left of them does not sum to 1"
_BEFORE_IT = "this mask sets scores to zero, and their softmax gives what it hides the share of exp(0)"


def masked_weights(case: Case) -> Iterator[Cause]:
    """What it flags: weights of an attention are set to zero behind the softmax, and nothing divides them by their sum;
    or its scores are set to zero before the softmax.

    Why: the softmax has given what is hidden its share: exp(0), where the score is 0. What is left sums to less than 1:
    the less, the more is hidden, so that a short sequence in a long batch comes out small.

    Wrong:
        weights = scores.softmax(-1).masked_fill(~keep, 0.0)
        out = weights @ values

    Right:
        weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
        out = weights @ values

    Do instead: hide the scores with -inf before the softmax.

    How it is found: in two calls or more of a line, truth values that come from data, and not by chance, set a part of
    what a softmax gave to zero; nothing had hidden its scores, and the weights are multiplied with what is learned and
    added up, not divided. Or they are multiplied into the scores, which go into the softmax as they are then, differ
    along what it runs over, and mask the weights no more. A hint.
    """
    yield from _told(_BEHIND, _behind(case))
    yield from _told(_BEFORE_IT, zeroed_scores(case))


def _told(message: str, masked: Iterable[tuple[FlowOperation, FlowOperation]]) -> Iterator[Cause]:
    """The lines that mask again and again; `masked`: what masks, each with its softmax."""
    times: Counter[Site] = Counter()
    places: dict[Site, Site | None] = {}
    for masking, softmax in masked:
        if masking.site is not None:
            times[masking.site] += 1
            places[masking.site] = softmax.site
    for site, count in times.items():
        if count >= _TIMES:
            related = Related("called_at", places[site], "the softmax")
            yield Cause(message, site, (related,) if related.site not in (None, site) else (), certain=False)


def _behind(case: Case) -> Iterator[tuple[FlowOperation, FlowOperation]]:
    """What sets weights to zero behind their softmax, and this."""
    flow = dataflow(case)
    for operation in flow.operations:
        is_softmax = operation.backward is None and base_name(operation.operation.name) in SOFTMAX
        if is_softmax and operation.makes and operation.reads[0].requires_grad and not _is_hidden(flow, operation):
            yield from ((one, operation) for one in _maskings(flow, operation.makes[0]) if _weighs(flow, one))


def _is_hidden(flow: RecordedDataflow, softmax: FlowOperation) -> bool:
    """Whether something besides products and forms was done to the scores: a mask, or a bias of distances."""
    tensor, before = softmax.reads[0].tensor, len(flow.operations)
    for _ in range(_FAR):
        at = flow.maker(tensor, before)
        operation = None if at is None else flow.operations[at]
        name = "" if operation is None else base_name(operation.operation.name)
        if at is None or operation is None or name in (*_PRODUCTS, "addmm", "sum"):
            return False
        learned = [one.tensor for one in operation.reads if one.requires_grad]
        if name not in (*_BEFORE, "_softmax") or not learned:
            return True
        tensor, before = learned[0], at
    return True


def _maskings(flow: RecordedDataflow, weights: int) -> Iterator[FlowOperation]:
    """The operators that set some of the weights to zero."""
    for at in flow.readers.get(weights, ()):
        operation = flow.operations[at]
        name = base_name(operation.operation.name)
        others = [one.tensor for one in operation.reads if not one.requires_grad]
        is_masking = operation.backward is None and name in _MASKS and bool(operation.makes)
        is_one = len(others) == 1 or name == "where"  # which reads its condition first
        if is_masking and others and is_one and is_of_data(flow, others[0], at):
            yield operation


def _weighs(flow: RecordedDataflow, masking: FlowOperation) -> bool:
    """Whether masked weights are multiplied with what is learned and added up, and are not divided before."""
    waiting, seen = list(masking.makes), set(masking.makes)
    found = False
    while waiting:
        for at in flow.readers.get(waiting.pop(), ()):
            operation = flow.operations[at]
            name = base_name(operation.operation.name)
            if operation.backward is not None or not operation.makes:
                continue
            if name == "sum":  # by which it is divided, or what it is multiplied with
                return False
            learned = sum(one.requires_grad for one in operation.reads)
            if name == "bmm" or (name == "mul" and learned == 2 and is_summed(flow, operation)):
                found = found or learned == 2
            elif name in (*_FORMS, "native_dropout") and operation.makes[0] not in seen:
                seen.add(operation.makes[0])
                waiting.append(operation.makes[0])
    return found
