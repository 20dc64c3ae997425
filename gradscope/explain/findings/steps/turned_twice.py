"""GS900: a gradient whose sign is turned in place, and turned back before anything has used it.

The surprise: squares and norms of it are the same for both signs, so that a first pass for them shows nothing.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_frames

_TIMES = 2  # stretches of operators
_TURNS = ("neg_", "_foreach_neg_")
_BY_MINUS_ONE = ("mul_(-1)", "mul_(-1.0)", "*=-1", "*=-1.0")
_SCALES = ("mul_", "div_")  # what is turned before or behind comes to the same
_SCALES_ALL = ("_foreach_mul_.Scalar", "_foreach_mul_.Tensor", "_foreach_div_.Scalar")  # which tell no results
_EVEN = ("abs", "norm", "linalg_vector_norm", "_foreach_norm")  # the same for both signs
_EVEN_OF_BOTH = ("mul", "dot", "addcmul", "addcmul_")  # where both factors are the gradient
_SQUARES = ("square", "**2", "pow(2)")
_NEW_VALUES = ("zero_", "copy_", "fill_", "_foreach_zero_", "_foreach_copy_")
_UNSEEN = ("numpy", "tolist", "data_ptr")
_COLLECTIVES = "c10d."  # which the flow leaves out where they have no graph


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two operators that turn the sign of one gradient, the second of which takes the first back."""

    first: FlowOperation
    second: FlowOperation


def turned_twice(case: Case) -> Iterator[Cause]:
    """What it flags: the sign of a gradient is turned in place, and turned again before anything has used it.

    Why: `grad = p.grad` is a name for the same tensor, and neg_() writes into it. A step() that goes over its
    parameters twice and turns the sign in both loops, or a loop that meets a tied parameter twice, descends where it
    is to ascend.

    Wrong:
        for p in group["params"]:
            total += p.grad.neg_().square().sum()
        for p in group["params"]:
            p.add_(p.grad.neg_() / total.sqrt(), alpha=-lr)

    Right:
        for p in group["params"]:
            total += p.grad.square().sum()
        for p in group["params"]:
            p.add_(-p.grad / total.sqrt(), alpha=-lr)

    Do instead: turn it once; or leave .grad as it is and turn what is computed from it.

    How it is found: between backward calls, in two steps or more, operators that change the sign of what a backward
    gave, in place. In between it is read by squares and norms alone, which are the same for both signs, and written by
    a factor at most; behind the second something uses it. A hint where different functions turn it, each for reasons
    of its own.
    """
    found: dict[tuple[Site | None, Site | None, bool], set[int]] = defaultdict(set)
    for pair in _pairs(case):
        first, second, is_one = _places(pair)
        if _hands_numbers_out(case, first, second, pair.first.site, pair.second.site):
            continue
        found[first, second, is_one].add(pair.second.run)
    for (first, second, is_one), runs in found.items():
        if len(runs) >= _TIMES:
            yield Cause(
                "this turns the sign of a gradient back, which was turned before: between the two nothing has used it, "
                "and the step goes where it would go without both",
                second,
                (Related("modified_at", first, "turned first"),) if first != second else (),
                severity=None if is_one else Severity.INFO,
                certain=is_one,
            )


def _places(pair: _Pair) -> tuple[Site | None, Site | None, bool]:
    """Where the two are called from one function, and whether it is one call of it; else their own lines."""
    frames = user_frames(pair.first.operation.stack), user_frames(pair.second.operation.stack)
    apart = [(one, other) for one, other in zip(*frames, strict=False) if one != other]
    is_one = len(frames[0]) == len(frames[1]) and all(one.is_in_function_of(other) for one, other in apart)
    if is_one and len(apart) <= 1:
        return (*apart[0], True) if apart else (pair.first.site, pair.second.site, True)
    return pair.first.site, pair.second.site, False


def _hands_numbers_out(case: Case, *sites: Site | None) -> bool:
    """Whether functions that turn the sign may use it where torch doesn't see it."""
    around = (syntax(case).function(site) for site in sites if site is not None)
    return any(map(attribute_call(*_UNSEEN), (node for one in around if one is not None for node in ast.walk(one))))


def _pairs(case: Case) -> Iterator[_Pair]:
    flow = dataflow(case)
    read = {one.tensor for each in flow.operations if _turns(each) for one in each.reads}
    turned = {flow.tensors[one].storage for one in read if one in flow.tensors}
    if not turned or any(one.operation.name.startswith(_COLLECTIVES) for one in case.flow()):
        return  # what ranks exchange between the two is not followed, as the least of them by way of the largest
    tensors: dict[int, list[int]] = defaultdict(list)
    for tensor in flow.tensors.values():
        if tensor.storage in turned:
            tensors[tensor.storage].append(tensor.number)
    for same in tensors.values():
        yield from _pairs_of(flow, frozenset(same))


def _pairs_of(flow: RecordedDataflow, same: frozenset[int]) -> Iterator[_Pair]:
    """The pairs of one gradient, given all tensors over its memory."""
    touching = sorted({at for one in same for at in (*flow.readers.get(one, ()), *flow.makers.get(one, ()))})
    if not touching or flow.operations[touching[0]].backward is None:
        return  # no backward gave it
    sizes = {one: prod(flow.shape(one)) for one in same}
    whole = frozenset(one for one, size in sizes.items() if size == max(sizes.values()))
    first, is_used = None, False
    for place, at in enumerate(touching):
        operation = flow.operations[at]
        if not _is_of_all(operation, same, whole) or base_name(operation.operation.name) in _NEW_VALUES:
            first, is_used = None, False
        elif not _turns(operation):
            is_used = is_used or not _is_same_for_both_signs(operation, whole)
        elif first is None or first.run != operation.run:
            first, is_used = operation, False
        else:
            if not is_used and _is_used(flow, whole, touching[place + 1 :]):
                yield _Pair(first, operation)
            first = None


def _is_of_all(operation: FlowOperation, same: frozenset[int], whole: frozenset[int]) -> bool:
    """Whether an operator outside of a backward touches a gradient, and no part of it alone."""
    touched = same.intersection([*(one.tensor for one in operation.reads), *operation.makes])
    return operation.backward is None and touched <= whole


def _is_used(flow: RecordedDataflow, same: frozenset[int], behind: list[int]) -> bool:
    """Whether something else than its size is read of it, before it is turned again or given other values."""
    for at in behind:
        operation = flow.operations[at]
        if operation.backward is not None or _turns(operation):
            return False
        if not _is_same_for_both_signs(operation, same):
            return base_name(operation.operation.name) not in _NEW_VALUES
    return False


def _turns(operation: FlowOperation) -> bool:
    """Whether an operator changes the sign of what it is given, in place."""
    name, site, stack = base_name(operation.operation.name), operation.site, operation.operation.stack
    if name != "mul_" or site is None or stack[0] != site or len(operation.reads) > 1:
        return name in _TURNS
    code = (site.source or "").partition("#")[0].replace(" ", "")
    is_sure = code.count("mul_(") + code.count("*=") == 1  # of several on a line, none is known to be the one
    return is_sure and any(turn in code if turn.endswith(")") else code.endswith(turn) for turn in _BY_MINUS_ONE)


def _is_same_for_both_signs(operation: FlowOperation, same: frozenset[int]) -> bool:
    """Whether an operator scales a gradient, gives it another form, or takes of it what doesn't depend on its sign."""
    name = base_name(operation.operation.name)
    reads = [place for place, one in enumerate(operation.reads) if one.tensor in same]
    if same.intersection(operation.makes):
        is_form = not {one.tensor for one in operation.reads}.intersection(operation.makes)
        return bool(reads) and (is_form or (name in _SCALES and reads == [0]))
    if operation.operation.name.endswith(_SCALES_ALL):
        return not operation.operation.name.endswith(".Tensor") or reads[-1] < len(operation.reads) - 1
    if name in _EVEN_OF_BOTH:
        return reads == [len(operation.reads) - 2, len(operation.reads) - 1]
    code = "" if operation.site is None else (operation.site.source or "").replace(" ", "")
    return name in _EVEN or (name == "pow" and any(one in code for one in _SQUARES))
