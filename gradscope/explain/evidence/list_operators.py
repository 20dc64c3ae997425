"""Operators on lists of tensors, torch._foreach_add_ and its kin: what stands at one place of each belongs together.

The surprise: those that write in place give nothing back, so that they do not seem to make what they write.
"""

from __future__ import annotations

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name

_PREFIX = "_foreach_"
_THREE = ("addcmul", "addcdiv")  # lists in all forms
_TWO = "copy"  # lists, with no other overload


def written_by(operation: FlowOperation) -> set[int]:
    """The tensors that an operator writes in place."""
    base = base_name(operation.operation.name)
    if base.startswith(_PREFIX) and base.endswith("_"):
        return {one.tensor for one in operation.reads[: _length(operation, base)]}
    return {one.tensor for one in operation.reads} & set(operation.makes)


def passed_on(operation: FlowOperation, tensor: int) -> tuple[int, ...]:
    """What gets values of a tensor that an operator reads: all that it makes, or what stands at its place of a list."""
    base = base_name(operation.operation.name)
    if not base.startswith(_PREFIX):
        return operation.makes
    length = _length(operation, base)
    places = {at % length for at, one in enumerate(operation.reads) if one.tensor == tensor}
    results = tuple(one.tensor for one in operation.reads[:length]) if base.endswith("_") else operation.makes
    return tuple(results[at] for at in sorted(places) if at < len(results))


def _length(operation: FlowOperation, base: str) -> int:
    """Of the first list."""
    name, overload = base.removeprefix(_PREFIX).strip("_"), operation.operation.name.rpartition(".")[2]
    lists = 2 if overload == "List" or name == _TWO else 1
    if name in _THREE:
        lists = 3
    elif name == "lerp":
        lists += 1
    return max(len(operation.reads) // lists, 1)
