"""The ratio of a policy's loss that is one each time: what it divides by was given by the same weights just before.

With data for one step that is right, and meant: the gradient is that of the policy, and nothing is to be clipped. Where
the same advantages serve for several steps, the probability is to be kept from the time when the data was collected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.computed_again import computed_again, maker, parting
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.trails import trail
from gradscope.explain.findings.objectives.surrogates import clipped_ratios
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3
_FAR = 16  # tensors on the way from a ratio to what it is made of, or in a product
_PARTS = ("index", "index_select", "slice", "select")
_FACTORS = ("mul", "neg")


def ratios_of_one(case: Case) -> Iterator[Cause]:
    """The lines that give the old probability, where each ratio is one and the same data is used again."""
    flow = dataflow(case)
    places: dict[Site, list[tuple[int, set[int]]]] = defaultdict(list)
    for at, operation in enumerate(flow.operations):
        ratios = clipped_ratios(flow, at, operation)
        if ratios and operation.site is not None:
            places[operation.site].append((at, ratios))
    for site, found in places.items():
        lines = [next(filter(None, (_old(case, at, one) for one in ratios)), None) for at, ratios in found]
        place = lines[-1]
        if len(found) >= _TIMES and place is not None and None not in lines and _is_used_again(flow, found):
            yield Cause(
                "this is computed with the weights that the ratio is computed with: it is one in each step, nothing is "
                "clipped, and the steps on the same data go as far as they like",
                place,
                (Related("called_at", site, "compares"),) if place != site else (),
                severity=Severity.INFO,
                certain=False,
                advice="keep the probability from when the data was collected",
            )


def _old(case: Case, before: int, ratio: int) -> Site | None:
    """Where what a ratio is divided by was computed, if that was with the weights of what is divided."""
    for at, one in trail(dataflow(case), ratio, before, _of_logarithms, _FAR):
        if base_name(one.operation.name) in ("sub", "div") and sum(read.requires_grad for read in one.reads) == 1:
            return _same(case, at, one) if len(one.reads) == 2 else None
    return None


def _of_logarithms(operation: FlowOperation) -> list[int]:
    return [one.tensor for one in operation.reads if base_name(operation.operation.name) == "exp"]


def _same(case: Case, at: int, divided: FlowOperation) -> Site | None:
    """The line of the old value, if no step lies between both."""
    flow = dataflow(case)
    new, old = sorted(divided.reads, key=lambda one: not one.requires_grad)
    first, second = _made(flow, new.tensor, at), _made(flow, old.tensor, at)
    if first is None or second is None or any(map(is_optimizer, flow.operations[min(first, second) : at])):
        return None
    if first == second:
        made = flow.maker(old.tensor, at)
        return None if made is None else flow.operations[made].site
    if computed_again(case, at, weighs=False) is None:
        return None
    return next(iter(parting(flow.operations[first], flow.operations[second])), flow.operations[second].site)


def _made(flow: RecordedDataflow, tensor: int, before: int) -> int | None:
    """The operator that computed a probability, or its logarithm."""
    at = maker(flow, tensor, before)
    is_exp = at is not None and base_name(flow.operations[at].operation.name) == "exp"
    return maker(flow, flow.operations[at].reads[0].tensor, at) if is_exp and at is not None else at


def _is_used_again(flow: RecordedDataflow, found: list[tuple[int, set[int]]]) -> bool:
    """Whether steps share what ratios are multiplied by, and not all steps do, as a table of rewards."""
    uses: dict[int, list[int]] = defaultdict(list)
    for at, _ in found:
        for one in _data(flow, at):
            uses[one].append(at)
    shared = [places for places in uses.values() if 1 < len(places) < len(found)]
    return any(any(map(is_optimizer, flow.operations[places[0] : places[-1]])) for places in shared)


def _data(flow: RecordedDataflow, at: int) -> set[int]:
    """What a surrogate multiplies its ratio by, which needs no gradient, and what that is a part of."""
    waiting = [(one.tensor, at) for one in flow.operations[at].reads]
    made = [each for tensor, before in waiting for each in trail(flow, tensor, before, _factors, _FAR)]
    found: set[int] = set()
    for place, operation in made:
        factors = {one.tensor for one in operation.reads if not one.requires_grad and flow.shape(one.tensor)}
        for one in factors if base_name(operation.operation.name) in _FACTORS else ():
            before = flow.maker(one, place)
            part = None if before is None else flow.operations[before]
            is_part = part is not None and base_name(part.operation.name) in _PARTS
            found |= {one, part.reads[0].tensor} if part is not None and is_part else {one}
    return found


def _factors(operation: FlowOperation) -> list[int]:
    is_product = base_name(operation.operation.name) in _FACTORS
    return [one.tensor for one in operation.reads if one.requires_grad and is_product]
