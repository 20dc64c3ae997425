"""Parameters that are zero and multiply each other: each one's gradient has the other as a factor, and is zero too.

That both gradients were zero is not enough: a term of weight 0 explains that as well, and may get another weight.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import FORMS
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

# What is zero where its first operand is.
_TAKING = ("select", "clone", "_to_copy", "alias", "embedding", "index", "gather", "index_select", "flatten")
_ODD = ("relu", "tanh", "sin", "gelu", "silu", "leaky_relu", "native_dropout", "neg", "sum", "mean", "div")
_KEEPING = frozenset((*FORMS, "slice", *_TAKING, *_ODD))
_PRODUCTS = ("mul", "mm", "bmm", "mv", "dot", "matmul", "linear", "convolution")
_WITH_SUMMAND = ("addmm", "baddbmm", "addmv")  # the first operand is added to the product of the others
_SUMS = ("add", "sub", "cat", "stack")
Operands = list[int]


@dataclass(frozen=True, slots=True)
class ZeroFactors:
    """Two parameters, by name and number, that are zero and that `site` multiplies: the one that it takes first, and
    the other."""

    first: str
    other: str
    site: Site | None


@dataclass(slots=True)
class _Zeros:
    """Tensors that are zero because parameters are: by number, the parameters; and the products of two of them."""

    of: dict[int, frozenset[int]] = field(default_factory=dict)
    products: dict[int, tuple[int, int]] = field(default_factory=dict)  # operator -> the two tensors


@kept
def zero_factors(case: Case) -> tuple[ZeroFactors, ...]:
    """The pairs of zero parameters of which neither has a way to a loss around a product with another zero."""
    leaves, flow = _zero_leaves(case), dataflow(case)
    zeros = _zeros_of(case)
    stuck = {tensor for tensor in leaves if _is_stuck(case, zeros, tensor)}
    found: dict[tuple[str, str], ZeroFactors] = {}
    for at, (first, other) in zeros.products.items():
        for one in _weights_first(flow, zeros.of[first] & stuck):
            for two in _weights_first(flow, (zeros.of[other] & stuck) - {one}):
                pair = leaves[one], leaves[two]
                if pair not in found and pair[::-1] not in found:
                    found[pair] = ZeroFactors(*pair, flow.operations[at].site)
    return tuple(found.values())


def behind_zero_factors(case: Case) -> frozenset[str]:
    """The parameters that get no gradient because every way of theirs goes through a product with such a zero."""
    if not zero_factors(case):
        return frozenset()
    flow = dataflow(case)
    leaves = ((one.number, one.leaf) for one in flow.tensors.values() if one.parameter and one.leaf is not None)
    return frozenset(name for number, name in leaves if _is_stuck(case, _zeros_of(case), number))


def _weights_first(flow: RecordedDataflow, tensors: frozenset[int] | set[int]) -> list[int]:
    """In order of their numbers, biases last: it is their layer's weight that should begin at random."""
    return sorted(tensors, key=lambda one: (len(flow.shape(one)) == 1, one))


@kept
def _zero_leaves(case: Case) -> dict[int, str]:
    """The parameters that an optimizer holds, by number, that were zero with a gradient of zero in each measured step.

    What is nameless is measured under one name.
    """
    sizes: dict[str, list[bool]] = defaultdict(list)
    for sample in samples_of(case):
        for name, size in sample.items():
            sizes[name].append(size.weight == 0 and size.gradient == 0)
    zero = {name for name, seen in sizes.items() if all(seen) and name != NAMELESS}
    held = (one for look in case.optimizer_looks() for one in look.parameters)
    return {one.tensor: one.name for one in held if one.name in zero}


@kept
def _zeros_of(case: Case) -> _Zeros:
    """Go through the forwards and note what is zero."""
    leaves, flow = _zero_leaves(case), dataflow(case)
    found = _Zeros({tensor: frozenset((tensor,)) for tensor in leaves})
    if len(leaves) < 2:
        return found
    for at, operation in enumerate(flow.operations):
        if operation.backward is not None or not operation.operation.grad or not operation.reads:
            continue
        operands = [read.tensor for read in operation.reads]
        factors = _factors(operation, operands)
        if factors is not None and factors[0] in found.of and factors[1] in found.of:
            found.products[at] = factors
        origins = _origins(operation, operands, found)
        for made in operation.makes[:1]:
            if origins:
                found.of[made] = origins
            elif made in operands:  # written in place
                found.of.pop(made, None)
    return found


def _factors(operation: FlowOperation, operands: Operands) -> tuple[int, int] | None:
    """The two operands that an operator multiplies."""
    name = base_name(operation.operation.name)
    if name in _WITH_SUMMAND and len(operands) == 3:
        return operands[1], operands[2]
    if name in _PRODUCTS and len(operands) >= 2:
        return operands[0], operands[1]
    return None


def _origins(operation: FlowOperation, operands: Operands, zeros: _Zeros) -> frozenset[int]:
    """The parameters because of which what an operator makes is zero; none where it may be another number."""
    name = base_name(operation.operation.name)
    known = [zeros.of.get(one, frozenset[int]()) for one in operands]
    if name in _KEEPING:
        return known[0]
    if name in _SUMS:
        return frozenset().union(*known) if len(known) > 1 and all(known) else frozenset()
    factors = _factors(operation, operands)
    if factors is None:
        return frozenset()
    added = [one for one in operands if one not in factors]
    if not all(one in zeros.of for one in added):
        return frozenset()
    return frozenset().union(*known)


def _is_stuck(case: Case, zeros: _Zeros, leaf: int) -> bool:
    """Whether every way from a parameter to a loss goes through a product with a zero."""
    flow = dataflow(case)
    roots = {end.tensor for end in flow.ends}
    waiting, seen, stopped = [leaf], {leaf}, False
    while waiting:
        case.pace()
        one = waiting.pop()
        if one in roots:
            return False
        for at in flow.readers.get(one, ()):
            operation = flow.operations[at]
            if operation.backward is not None or not operation.operation.grad or flow.sets_leaf(at, one):
                continue
            if _is_multiplied_by_zero(zeros, operation, one):
                stopped = True
                continue
            waiting += [made for made in operation.makes if made not in seen]
            seen.update(operation.makes)
    return stopped


def _is_multiplied_by_zero(zeros: _Zeros, operation: FlowOperation, operand: int) -> bool:
    factors = _factors(operation, [read.tensor for read in operation.reads])
    if factors is None or operand not in factors:
        return False
    first, other = factors
    return (other if operand == first else first) in zeros.of
