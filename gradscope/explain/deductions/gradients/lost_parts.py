"""Finds the parts of a loss that train nothing, while the rest of it trains.

Torch refuses a loss without a graph, not a sum in which one summand has none. Programs add constants on purpose, too: a
part counts only where it was computed in the same step from parameters that an optimizer holds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from gradscope.explain.deductions.lines.graph_cuts import MODE, MissingGradient, Reason, at_cut
from gradscope.explain.deductions.steps.optimizer_parameters import optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, dataflow
from gradscope.model.finding import Related
from gradscope.model.flow import FlowEnd
from gradscope.model.operation import base_name
from gradscope.store.asked import kept

_ADDS = ("add", "add_", "sub", "sub_", "rsub", "stack", "cat")
_SUBTRACTS, _VIEWS = ("sub", "sub_"), ("unsqueeze", "squeeze", "view", "expand", "alias", "_unsafe_view")
_KEEPS = ("mul", "mul_", "div", "div_", "neg", "sum", "mean", "squeeze", "unsqueeze", "view", "_to_copy", "clone")


@kept
def lost_parts(case: Case) -> tuple[MissingGradient, ...]:
    """The cut behind each summand of a loss that should have trained something and has no graph.

    Of several by one operator, that of a result which is used for nothing else: a baseline that is taken off is
    detached on purpose, and trained by another summand.
    """
    flow, found = dataflow(case), dict[int, MissingGradient]()
    roots = {root.tensor for root in flow.roots if root.requires_grad}
    for backward, summand, all_cuts in _cut_summands(case):
        cuts = [one for one in all_cuts if not _is_meant(flow, summand, one)]
        alike = [one for one in cuts if _cuts_with(flow, one) == _cuts_with(flow, cuts[0])]
        lost = (one for one in alike if len(alike) > 1 and roots.isdisjoint(flow.onward(one.read).live))
        cut = next(lost, next(iter(cuts), None))
        if cut is not None and cut.operation not in found:
            missing = at_cut(case, cut)
            trained = comes_from(flow, cut, _held_from(case, backward))
            found[cut.operation] = missing if trained or missing.code != MODE else _of_another(flow, summand, missing)
    return tuple(found.values())


def _cuts_with(flow: RecordedDataflow, cut: Cut) -> str:
    return flow.operations[cut.operation].operation.name


def _held_from(case: Case, backward: int) -> frozenset[int]:
    """The parameters of the optimizers that step after a backward call; of all where none was looked at after it."""
    looks = (look for look in case.optimizer_looks() if look.backward is not None and look.backward >= backward)
    found = frozenset(parameter.tensor for look in looks for parameter in look.parameters)
    return found or optimizer_parameters(case).held


def _of_another(flow: RecordedDataflow, summand: int, lost: MissingGradient) -> MissingGradient:
    """Of a model that is not trained any more, gradients are off on purpose: the line is the summand's own."""
    maker = max(flow.sources(summand, len(flow.operations)), default=None)
    if maker is None or lost.cause.site is None:
        return lost
    related = (Related("cut_at", lost.cause.site, "the other model"), *lost.cause.related)
    advice = "Compute this term from what the trained model gives, or leave it out."
    cause = replace(lost.cause, site=flow.operations[maker].site, related=related, certain=False, advice=advice)
    return replace(lost, reason=Reason.NOT_TRAINED_HERE, cause=cause)


@kept
def detached_terms(case: Case) -> tuple[Cut, ...]:
    """Where a number that goes into a loss was detached, and no backward starts from it or from what came of it."""
    flow = dataflow(case)
    roots = {root.tensor for root in flow.roots if root.requires_grad}
    found = {cut.operation: cut for _, _, cuts in _cut_summands(case) for cut in cuts if _is_between_numbers(flow, cut)}
    return tuple(cut for cut in found.values() if roots.isdisjoint(flow.onward(cut.read).live))


def _cut_summands(case: Case) -> Iterator[tuple[int, int, Iterator[Cut]]]:
    """By backward call, the summands of its loss that have no graph, with what cut each off there, the latest first."""
    flow, held = dataflow(case), optimizer_parameters(case).held
    for root, began in losses_of_steps(case):
        for summand, before in summands(flow, root.tensor):
            cuts = [cut for cut in flow.behind(summand, before) if cut.operation >= began]
            yield root.backward, summand, (cut for cut in cuts if comes_from(flow, cut, held))


def losses_of_steps(case: Case) -> Iterator[tuple[FlowEnd, int]]:
    """What the backward calls of an optimizer's steps started from, each with where its step's operators begin."""
    flow, held = dataflow(case), optimizer_parameters(case).held
    calls = {call.number for call in case.backwards() if call.kind == "backward" and call.exception is None}
    ended = _ends(flow, calls)
    for root in flow.roots:
        if held and root.requires_grad and root.backward in calls:
            yield root, ended[bisect_left(ended, (root.backward,)) - 1][1] + 1


def _ends(flow: RecordedDataflow, calls: set[int]) -> list[tuple[int, int]]:
    """The last operator of all backward calls up to each of these, by the call's number; none before the first."""
    last = {one.backward: at for at, one in enumerate(flow.operations) if one.backward in calls}
    known = sorted((number, at) for number, at in last.items() if number is not None)
    return [(-1, -1), *zip((number for number, _ in known), accumulate((at for _, at in known), max), strict=True)]


def summands(flow: RecordedDataflow, loss: int) -> Iterator[tuple[int, int]]:
    """The numbers that a loss is the sum of and that have no graph, each with the operator that adds it."""
    waiting, seen = [(loss, len(flow.operations))], {loss}
    while waiting:
        whole, until = waiting.pop()
        makers = [at for at in flow.sources(whole, until) if flow.operations[at].backward is None]
        if not makers:
            continue
        operation = flow.operations[makers[-1]]
        name, reads = base_name(operation.operation.name), operation.reads
        if not operation.operation.grad or not (name in _ADDS or (name in _KEEPS and len(reads) == 1)):
            continue
        for read in reads:
            if read.requires_grad and not read.leaf and read.tensor not in seen:
                seen.add(read.tensor)
                waiting.append((read.tensor, makers[-1]))
            elif name in _ADDS and not read.requires_grad and _is_summand(flow, read.tensor, whole):
                yield read.tensor, makers[-1]


def _is_summand(flow: RecordedDataflow, tensor: int, whole: int) -> bool:
    """Whether a tensor is a number, or one for each sample as the sum is."""
    known = [flow.tensors[one].type.shape for one in (tensor, whole) if one in flow.tensors]
    return _is_number(flow, tensor) or (len(known) == 2 and known[0] == known[1] and len(known[0]) == 1)


def _is_number(flow: RecordedDataflow, tensor: int) -> bool:
    return tensor in flow.tensors and all(size == 1 for size in flow.tensors[tensor].type.shape)


def _is_meant(flow: RecordedDataflow, summand: int, cut: Cut) -> bool:
    """Whether a program may well mean a cut: a number, or a summand, that is itself detached; or a summand that was
    taken off before, as the largest value is before exp(), so that its derivatives cancel."""
    is_itself = cut.made == summand and not _is_number(flow, summand)
    return _is_between_numbers(flow, cut) or is_itself or _is_put_back(flow, summand)


def _is_put_back(flow: RecordedDataflow, summand: int) -> bool:
    """Whether a summand, or another view of it, was subtracted from what has a graph."""
    waiting, seen = [summand], {summand}
    while waiting:
        tensor = waiting.pop()
        for at in flow.readers.get(tensor, ()):
            one = flow.operations[at]
            name, reads = base_name(one.operation.name), one.reads
            if name in _SUBTRACTS and len(reads) == 2 and reads[1].tensor == tensor and reads[0].requires_grad:
                return True
            if name in _VIEWS and len(reads) == 1:
                waiting += [made for made in one.makes if made not in seen]
                seen.update(one.makes)
    return False


def _is_between_numbers(flow: RecordedDataflow, cut: Cut) -> bool:
    return cut.made is not None and _is_number(flow, cut.made) and _is_number(flow, cut.read)


def comes_from(flow: RecordedDataflow, cut: Cut, held: frozenset[int]) -> bool:
    """Whether what was cut off was computed from one of these parameters."""
    waiting, seen = [(cut.read, cut.operation)], set()
    walked: dict[int, int] = {}
    while waiting:
        tensor, before = waiting.pop()
        if tensor in held:
            return True
        if tensor not in seen:
            seen.add(tensor)
            for at in flow.sources(tensor, before, walked):
                waiting += [(read.tensor, at) for read in flow.operations[at].reads if read.requires_grad]
    return False
