"""Follows a gradient to the operator of the program's own by which a leaf moves along it.

A leaf that gets a value made of the gradient alone is not moved: `w.copy_(start - rate * w.grad)` means the sum.
"""

from __future__ import annotations

import ast
from bisect import bisect_right

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.list_operators import passed_on, written_by
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name

_FAR = 16  # tensors from a gradient to what it moves
_SIGN = "sign"
_MOVES = ("add_", "sub_", "addcmul_", "addcdiv_")
_COPIES, _KEPT = ("copy_",), ("clone", "_to_copy", "copy_")
_RESETS = ("copy_", "zero_", "fill_", "normal_", "uniform_")


class Mover:
    """What moves by gradients in a recorded flow."""

    def __init__(self, case: Case) -> None:
        self._flow, self._syntax = dataflow(case), syntax(case)
        flow, self._leaves = self._flow, _learned(self._flow)
        resets = (at for at, one in enumerate(flow.operations) if one.backward is None and _base(one) in _RESETS)
        self._resets = [(at, places) for at in resets if (places := self._memory(written_by(flow.operations[at])))]
        self._reset_at = [at for at, _ in self._resets]

    def moved(self, gradient: int, since: int, until: int) -> int | None:
        """The first operator between two places, and behind a gradient, that takes its signs or moves a leaf; or an
        optimizer's that reads it."""
        flow, waiting, relative = self._flow, [gradient], {gradient: False}  # whether the leaf itself went into it
        while waiting and len(relative) < _FAR:
            tensor = waiting.pop(0)
            for at in (one for one in flow.readers.get(tensor, ()) if since < one < until):
                operation = flow.operations[at]
                if is_optimizer(operation):
                    return at
                if operation.backward is not None or self._is_difference(at, gradient, tensor):
                    continue
                if self._moves(at, tensor, relative[tensor], since, until):
                    return at
                if self._memory(written_by(operation)):
                    continue
                own = relative[tensor] or self._reads_leaf(operation)
                new = [one for one in passed_on(operation, tensor) if one not in relative]
                relative.update(dict.fromkeys(new, own))
                waiting += new
        return None

    def _moves(self, at: int, tensor: int, relative: bool, since: int, until: int) -> bool:
        """Whether an operator takes signs, adds in place to memory that a leaf which learns has, or makes what such a
        leaf then is, of what it was; `relative`: that went into the tensor already."""
        operation = self._flow.operations[at]
        base = _base(operation)
        if base == _SIGN:
            return True
        written = self._memory(written_by(operation))
        if written and (base in _MOVES or (base in _COPIES and relative)):
            return not self._is_reset(at, written, since, until)
        before = {self._storage(one.tensor) for one in operation.reads}
        is_of_it = relative or self._reads_leaf(operation)
        if not is_of_it or written:
            return False
        return self._is_given(operation) or bool(self._memory({*passed_on(operation, tensor)}) - before)

    def _is_given(self, operation: FlowOperation) -> bool:
        """Whether a line gives what it computes to the .data of what it reads: that is seen in the source alone."""
        statement = None if operation.site is None else self._syntax.statement(operation.site)
        if not isinstance(statement, ast.Assign):
            return False
        targets = (one for one in statement.targets if isinstance(one, ast.Attribute) and one.attr == "data")
        read = {ast.unparse(one) for one in ast.walk(statement.value) if isinstance(one, (ast.Name, ast.Attribute))}
        return any(ast.unparse(one.value) in read for one in targets)

    def _is_reset(self, at: int, memory: set[int], since: int, until: int) -> bool:
        """Whether something else gives such memory new values in between: the sum is meant to start from those."""
        first, last = bisect_right(self._reset_at, since), bisect_right(self._reset_at, until)
        return any(one != at and memory & places for one, places in self._resets[first:last])

    def _is_difference(self, at: int, gradient: int, tensor: int) -> bool:
        """Whether an operator also reads a copy of the gradient that was kept before: what is new in it is meant."""
        others = (one.tensor for one in self._flow.operations[at].reads if one.tensor != tensor)
        makers = (self._flow.maker(one, at) for one in others)
        kept = (self._flow.operations[one] for one in makers if one is not None)
        return any(_base(one) in _KEPT and any(read.tensor == gradient for read in one.reads) for one in kept)

    def _reads_leaf(self, operation: FlowOperation) -> bool:
        return bool(self._memory({one.tensor for one in operation.reads}))

    def _memory(self, tensors: set[int]) -> set[int]:
        """That of leaves which learn."""
        return {storage for one in tensors if (storage := self._storage(one)) in self._leaves and storage is not None}

    def _storage(self, tensor: int) -> int | None:
        known = self._flow.tensors.get(tensor)
        return None if known is None else known.storage


def _base(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).removeprefix("_foreach_")


def _learned(flow: RecordedDataflow) -> set[int]:
    """The memory of the leaves that require grad."""
    known = flow.tensors
    reads = (read for operation in flow.operations for read in operation.reads if read.leaf and read.requires_grad)
    return {known[read.tensor].storage for read in reads if read.tensor in known}
