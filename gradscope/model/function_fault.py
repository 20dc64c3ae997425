"""What was seen of custom Functions while they ran."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.graph import FunctionClass
from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class InputEdit(Located):
    """A Function's forward wrote one of its inputs that require grad."""

    function: FunctionClass
    op: str
    stack: Stack


@dataclass(frozen=True, slots=True)
class CapturedTensor(Located):
    """A Function's forward read, as `name`, a tensor that torch.func differentiated and that was no argument."""

    function: FunctionClass
    name: str
    stack: Stack


@dataclass(frozen=True, slots=True)
class OnContext:
    """A floating tensor without a gradient that a Function held as `ctx.name` in a backward with create_graph."""

    backward: int
    node: int
    name: str
