"""What a compiler makes of a region: one joint graph of forward and backward, and how it is cut in two."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from gradscope.model.site import Located, Stack
from gradscope.model.tensor import TensorType


class Half(enum.Enum):
    """Which half a node of a joint graph belongs to."""

    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True)
class JointNode(Located):
    """One node of a joint graph. `nodes[i].id == i` in its region.

    `op` is the operator ("aten.mm.default") or "input" for what comes from outside: arguments and parameters in the
    forward, gradients of outputs in the backward. `label` says what an input or a result is to the user. `storage`
    numbers the distinct storages of the region (equal means shared, -1: no single tensor), `bytes` is the whole
    storage's size. `seq_nr` joins a backward node with the forward node that it belongs to. A gradient addition
    names in `addition_of` the node whose gradients it adds, and in `uses` the forward nodes that used that one.
    `stack` is, for a backward node, that of the forward line that it belongs to.
    """

    id: int
    name: str
    op: str
    phase: Half
    type: TensorType | None = None
    bytes: int = 0
    storage: int = -1
    stack: Stack = ()
    seq_nr: int | None = None
    inputs: tuple[int, ...] = ()
    module: str = ""
    label: str = ""
    addition_of: int | None = None
    uses: tuple[int, ...] = ()

    @property
    def is_input(self) -> bool:
        """Whether it comes from outside."""
        return self.op == "input"


@dataclass(frozen=True, slots=True)
class PartitionStep:
    """A node as it stands in one half of a partition, with what it is computed from there."""

    node: int
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """One way to cut a joint graph: two graphs, and the nodes whose values are saved between them.

    `name` is "default", "min-cut", or "own" for what the program's compiler chose when that is neither; `used` tells
    that the program's compiler chose this one.
    """

    name: str
    saved: tuple[int, ...]
    forward: tuple[PartitionStep, ...]
    backward: tuple[PartitionStep, ...]
    used: bool = False


@dataclass(frozen=True, slots=True)
class Fact(Located):
    """One thing that the compiler did to the user's code: `kind` is a word or two, `text` a sentence."""

    kind: str
    text: str
    stack: Stack = ()


@dataclass(frozen=True, slots=True)
class Region:
    """What torch.compile made one graph of. `stack` is where its function is defined; `compile_id` is torch's name."""

    number: int
    name: str
    compile_id: str
    stack: Stack
    nodes: tuple[JointNode, ...]
    partitions: tuple[Partition, ...]
    facts: tuple[Fact, ...] = ()
    held: frozenset[int] = field(init=False, repr=False, compare=False)  # the storages of what the forward is given

    def __post_init__(self) -> None:
        arguments = (node.storage for node in self.nodes if node.is_input and node.phase is Half.FORWARD)
        object.__setattr__(self, "held", frozenset(storage for storage in arguments if storage >= 0))

    def partition(self, name: str) -> Partition | None:
        """The partition of that name."""
        return next((each for each in self.partitions if each.name == name), None)

    def is_held(self, number: int) -> bool:
        """Whether a node's memory is an input's, which lives on whoever saves it."""
        return self.nodes[number].storage in self.held

    def saved_bytes(self, partition: Partition) -> int:
        """Bytes that live from the forward to the backward because of a partition: each storage once, no input's."""
        return sum(
            {
                node.storage: node.bytes
                for node in map(self.nodes.__getitem__, partition.saved)
                if node.storage >= 0 and not self.is_held(node.id)
            }.values()
        )

    def recomputed(self, partition: Partition) -> tuple[int, ...]:
        """The nodes that a partition computes in both halves."""
        forward = {step.node for step in partition.forward}
        return tuple(
            step.node
            for step in partition.backward
            if step.node in forward and not self.nodes[step.node].is_input and step.node not in partition.saved
        )


@dataclass(frozen=True, slots=True)
class EagerTensor(Located):
    """A tensor that eager autograd saved: `held` tells that it lives in an input's memory."""

    type: TensorType
    bytes: int
    storage: int
    held: bool
    stack: Stack = ()
