"""What hangs on a ctx besides saved tensors: tensors, arrays, containers and closures that autograd cannot see."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import tensors_in


@dataclass(frozen=True)
class Kept:
    """An attribute of ctx that holds data: `kind` is tensor, container, closure or numpy; `what` names the tensor."""

    attribute: str
    kind: str
    what: str


def describe_context(context: Any, args: list[Any], outputs: list[Any]) -> tuple[Kept, ...]:
    """The attributes of ctx that hold tensors or arrays."""
    if context is None:
        return ()
    found: list[Kept] = []
    for name, value in vars(context).items():
        kind, tensors = contents(value)
        if kind:
            names = [name_tensor(t, args, outputs) for t in tensors]
            found.append(Kept(name, kind, min(names, key=worth, default="array")))
    return tuple(found)


def worth(name: str) -> int:
    """Which of several tensors matters most: an output makes a cycle, an input goes stale."""
    order = ("output", "input", "intermediate")
    first = name.split(maxsplit=1)[0]
    return order.index(first) if first in order else len(order)


def contents(value: Any) -> tuple[str, list[Tensor]]:
    """The kind of holder and the tensors in it; an empty kind for harmless values."""
    if isinstance(value, Tensor):
        return "tensor", [value]
    if type(value).__module__.partition(".")[0] == "numpy" and bool(getattr(value, "ndim", False)):
        return "numpy", []
    if isinstance(value, torch.nn.Module):
        return "", []  # its parameters outlive every graph, and belong to no input
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if not is_empty(cell)]
        return ("closure", found) if (found := [t for c in cells for t in tensors_in(c)]) else ("", [])
    found = tensors_in(value)
    if not found and not isinstance(value, list | tuple | dict | type) and hasattr(value, "__dict__"):
        found = [t for item in vars(value).values() for t in tensors_in(item)]
    return ("container", found) if found else ("", [])


def is_empty(cell: types.CellType) -> bool:
    """Whether a closure's cell was never filled."""
    try:
        return cell.cell_contents is None
    except ValueError:
        return True


def name_tensor(tensor: Any, args: list[Any], outputs: list[Any]) -> str:
    """One of "input 0", "output 1", "intermediate", "none", or the type of something that is no tensor."""
    if tensor is None:
        return "none"
    if not isinstance(tensor, Tensor):
        return f"no tensor ({type(tensor).__name__})"
    for label, group in (("output", outputs), ("input", args)):
        for index, value in enumerate(group):
            if any(t is tensor for t in tensors_in(value)):
                return f"{label} {index}"
    for label, group in (("input", args), ("output", outputs)):
        for index, value in enumerate(group):
            if isinstance(value, Tensor) and shares_storage(value, tensor):
                return f"{label} {index}"
    return "intermediate"


def shares_storage(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors are views of the same memory."""
    try:
        return left.numel() > 0 and left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr() != 0
    except (RuntimeError, NotImplementedError):
        return False
