"""The way of tensors through operators, and what optimizers and the heap tell of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from gradscope.model.operation import Operation
from gradscope.model.site import Located, Site, Stack
from gradscope.model.tensor import TensorType

_FIRST_STEPS = 6  # of an optimizer, before only powers of two


@dataclass(slots=True)  # not frozen: there are tens of thousands, and frozen ones take four times as long to make
class FlowTensor:
    """A tensor that operators read or made. Views of one memory have the same `storage`; `leaf` is a leaf's name."""

    number: int
    storage: int
    type: TensorType
    leaf: str | None = None
    parameter: bool = False


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as FlowTensor
class Read:
    """An operator read a tensor, which required grad then or not, as a leaf or as a result."""

    tensor: int
    requires_grad: bool
    leaf: bool = False


@dataclass(slots=True)  # not frozen, as FlowTensor
class FlowOperation:
    """An operator with the tensors that it read and made, by number. `run` and `position` place it in its block;
    `backward` is the call that it ran in. What it wrote in place is both read and made."""

    run: int
    position: int
    operation: Operation
    backward: int | None = None
    reads: tuple[Read, ...] = ()
    makes: tuple[int, ...] = ()
    site: Site | None = field(init=False)  # the user's line that led there: asked of each again and again

    def __post_init__(self) -> None:
        self.site = self.operation.site


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """A tensor that a backward call started from, or (`target`) was asked for."""

    backward: int
    target: bool
    position: int
    tensor: int
    requires_grad: bool
    leaf: bool = False


class GradientState(enum.IntEnum):
    """What a leaf's .grad was: None, all zeros, other values; or the leaf requires no grad."""

    NONE = 0
    ZERO = 1
    VALUES = 2
    FROZEN = 3


@dataclass(frozen=True, slots=True)
class HeldParameter:
    """A parameter that an optimizer holds, and its gradient's state just before a step."""

    name: str
    tensor: int
    state: GradientState


@dataclass(frozen=True, slots=True)
class OptimizerLook(Located):
    """An optimizer just before its step `count`, from 0. `backward` is the last call that ran before it."""

    optimizer: int
    name: str
    count: int
    backward: int | None
    stack: Stack
    parameters: tuple[HeldParameter, ...]


def is_looked_at(count: int) -> bool:
    """Whether an optimizer's step of this number, from 0, is looked at in any case; others are after a change."""
    return count < _FIRST_STEPS or count & (count - 1) == 0


@dataclass(frozen=True, slots=True)
class LeafGradient:
    """The state of a leaf's .grad when backward `backward` started; `node` is the leaf's in its graph."""

    backward: int
    node: int
    tensor: int
    state: GradientState


@dataclass(frozen=True, slots=True)
class Survivors(Located):
    """Nodes made in step `made` by one stack, of which `count` still lived at the end of step `step`.

    `youngest` numbers the last of them in the order in which the run made nodes.
    """

    step: int
    made: int
    stack: Stack
    count: int
    youngest: int = 0


@dataclass(frozen=True, slots=True)
class Holder(Located):
    """What holds a tensor whose graph holds such nodes: a kind (list, variable, ...), its name, and whose name it is.

    `stack` made the tensor's node, `count` is how many of the nodes it keeps.
    """

    stack: Stack
    kind: str
    name: str
    owner: str
    count: int = 0
