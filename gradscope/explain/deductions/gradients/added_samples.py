"""Sums over the samples of a batch, one number, that are added to something of each sample again."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_ADDS = ("add", "sub")
_SCALES = ("mul", "div")
_LINEAR = (*_ADDS, "neg", "rsub", "mean", "sum")


@dataclass(frozen=True, slots=True)
class AddedSamples:
    """A vector of `count` samples whose elements are added one by one at `site`; `used` is where their sum is added to
    something of each sample."""

    count: int
    site: Site
    used: Site | None


def added_samples(case: Case) -> Iterator[AddedSamples]:
    """Those that are part of a loss, each line once. What scales them may have divided by their number: not these."""
    flow, said = dataflow(case), set[Site]()
    roots = frozenset(root.tensor for root in flow.roots)
    for at, operation in enumerate(flow.operations):
        if base_name(operation.operation.name) != "unbind" or not flow.reads_learned(at):
            continue
        vector, count = operation.reads[0].tensor, len(operation.makes)
        total = _sum_of(flow, operation.makes) if count > 1 and _has_one_of_each(flow, vector, count) else None
        if total is None or total[1] in said:
            continue
        readers = (flow.operations[reader] for reader in flow.readers.get(total[0], ()))
        used = [one for one in readers if _is_added_to_samples(case, one, total[0], vector, count)]
        found = next((one for one in used if _goes_into_a_loss(flow, one.makes[0], roots)), None)
        if found is not None:
            said.add(total[1])
            yield AddedSamples(count, total[1], found.site)


def _is_added_to_samples(case: Case, operation: FlowOperation, total: int, vector: int, count: int) -> bool:
    other, flow = _added_to(operation, total), dataflow(case)
    return other is not None and _has_one_of_each(flow, other, count) and _are_samples(case, vector, other, count)


def _has_one_of_each(flow: RecordedDataflow, tensor: int, count: int) -> bool:
    return flow.shape(tensor) in ((count,), (count, 1))


def _are_samples(case: Case, vector: int, other: int, count: int) -> bool:
    """Whether two vectors come from one tensor with a row for each element, and nothing scales the first alone."""
    flow = dataflow(case)
    own, others = _of_samples(flow, vector, count), _of_samples(flow, other, count)
    alone = [flow.operations[at] for tensor in own - others for at in flow.makers.get(tensor, ())]
    return not own.isdisjoint(others) and not _are_scaled(case, alone)


def _sum_of(flow: RecordedDataflow, elements: tuple[int, ...]) -> tuple[int, Site] | None:
    """What a chain of additions makes of all elements, and its line; the first may have been added to a plain 0."""
    first = next((made for made, reads, _ in _additions(flow, elements[0]) if reads == {elements[0]}), elements[0])
    total, line = first, None
    for element in elements[1:]:
        found = next((one for one in _additions(flow, total) if one[1] == {total, element}), None)
        if found is None:
            return None
        total, line = found[0], found[2]
    return None if line is None else (total, line)


def _additions(flow: RecordedDataflow, tensor: int) -> Iterator[tuple[int, set[int], Site | None]]:
    for at in flow.readers.get(tensor, ()):
        operation = flow.operations[at]
        if operation.backward is None and base_name(operation.operation.name) == "add" and operation.makes:
            yield operation.makes[0], {read.tensor for read in operation.reads}, operation.site


def _added_to(operation: FlowOperation, total: int) -> int | None:
    """What a sum is added to, or what it is taken from."""
    others = [read.tensor for read in operation.reads if read.tensor != total]
    adds = operation.backward is None and base_name(operation.operation.name) in _ADDS
    return others[0] if adds and len(operation.reads) == 2 and len(others) == 1 else None


def _of_samples(flow: RecordedDataflow, tensor: int, count: int) -> set[int]:
    """A tensor, and what it was made of as far as the first dimension is that of the samples; no parameters."""
    seen, waiting = {tensor}, [tensor]
    while waiting:
        for at in flow.makers.get(waiting.pop(), ()):
            for read in flow.operations[at].reads:
                known = flow.tensors.get(read.tensor)
                if known is not None and not known.parameter and known.type.shape[:1] == (count,):
                    waiting += [read.tensor] if read.tensor not in seen else []
                    seen.add(read.tensor)
    return seen


def _are_scaled(case: Case, operations: Iterable[FlowOperation]) -> bool:
    """Whether the program multiplies or divides there by more numbers than are written on the lines."""
    flow, scales = dataflow(case), Counter[Site]()
    for one in operations:
        is_scaled = base_name(one.operation.name) in _SCALES and sum(bool(flow.shape(r.tensor)) for r in one.reads) == 1
        if is_scaled and one.site is not None and one.operation.stack[0].origin is Origin.USER:
            scales[one.site] += 1
    return any(times > _written(case, site) for site, times in scales.items())


def _written(case: Case, site: Site) -> int:
    """How many products with a number, written as such, a statement has."""
    statement = syntax(case).statement(site)
    nodes = [] if statement is None else [one for one in ast.walk(statement) if isinstance(one, ast.BinOp)]
    products = [one for one in nodes if isinstance(one.op, ast.Mult | ast.Div)]
    return sum(_is_written(one.left) or _is_written(one.right) for one in products)


def _is_written(value: ast.expr) -> bool:
    value = value.operand if isinstance(value, ast.UnaryOp) else value
    return isinstance(value, ast.Constant)


def _goes_into_a_loss(flow: RecordedDataflow, tensor: int, roots: frozenset[int]) -> bool:
    """Whether a vector goes into what a backward starts from by sums and factors alone."""
    waiting, seen = [tensor], {tensor}
    while waiting:
        one = waiting.pop()
        if one in roots:
            return True
        for at in flow.readers.get(one, ()):
            operation = flow.operations[at]
            if operation.backward is None and _is_linear(flow, operation):
                waiting += [made for made in operation.makes if made not in seen]
                seen.update(operation.makes)
    return False


def _is_linear(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator sums, or has one factor that is a number."""
    name = base_name(operation.operation.name)
    if name in _SCALES:
        return not any(flow.shape(read.tensor) for read in operation.reads[1:])
    return name in _LINEAR
