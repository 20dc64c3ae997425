"""What ended a program: the exception that nobody caught."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class MissingGrad(Located):
    """A tensor whose .grad was None where the program failed for that, called `name` there or, a parameter, by its own.

    `tensor` is a FlowTensor's number, `made` the stack of the operator that a result comes from, `stack` the failure's.
    """

    name: str
    tensor: int
    leaf: bool
    requires_grad: bool
    made: Stack
    stack: Stack


@dataclass(frozen=True, slots=True)
class Failure(Located):
    """An uncaught exception: its type's name, its message, and where it was raised.

    `backward` is the number of the backward call that it came out of, None when it came from elsewhere.
    """

    kind: str
    message: str
    stack: Stack = ()
    thread: int = 0
    backward: int | None = None
