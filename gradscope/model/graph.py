"""The graph that one backward call reached: nodes, edges, and the call itself."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache

from gradscope.model.hook import Firing, Hook
from gradscope.model.module import ModuleCall
from gradscope.model.site import Located, Site, Stack, library_site, user_site
from gradscope.model.tensor import Recomputed, SavedTensor, TensorType

ACCUMULATE = "AccumulateGrad"
GENERATED, VMAPPED = "GeneratedBackward", "Vmapped"  # in the names that nodes of custom Functions have under torch.func


@dataclass(frozen=True, slots=True)
class Level:
    """One torch.func transform that was active when a node was built: kind is Grad, Vmap, Jvp or Functionalize."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True, slots=True)
class Parent(Located):
    """The backward node that was being evaluated when a node was made (double backward).

    `node` is its id when it is in the same graph, else None; name and stack are known either way, and `site` is the
    forward line that the node derives from.
    """

    name: str
    stack: Stack
    node: int | None = None


@dataclass(frozen=True, slots=True)
class FunctionClass:
    """The custom autograd.Function behind a node: its class's line and its backward's (or vjp's) line."""

    name: str
    class_site: Site | None = None
    backward_site: Site | None = None

    @property
    def bare_name(self) -> str:
        """The class's own name, without those of what it is defined in."""
        return self.name.rpartition(".")[2]


@dataclass(slots=True, unsafe_hash=True)  # not frozen: frozen ones take four times as long to make
class Node:
    """One autograd node. Ids number the nodes of one graph from 0, in the order of discovery from the roots.

    `seq_nr` is None for AccumulateGrad (torch's 2**64 - 1: the engine runs it as soon as it is ready) and for the
    other nodes torch numbers so. `stack` is where the node was built; for AccumulateGrad, where its leaf was first
    used. `order` is the position at which the engine ran it, None when it did not run. `device` is that of
    the engine's ready queue. `thread` numbers threads of the run from 0, the main one. `raised`: its backward call
    stopped in it, or in a hook before it.
    """

    id: int
    name: str
    seq_nr: int | None
    stack: Stack = ()
    op: str | None = None
    module: ModuleCall | None = None
    levels: tuple[Level, ...] = ()
    thread: int = 0
    parent: Parent | None = None
    device: str = "cpu"
    inputs_meta: tuple[TensorType | None, ...] = ()
    saved: tuple[SavedTensor, ...] = ()
    again: tuple[Recomputed, ...] = ()
    hooks: tuple[Hook, ...] = ()
    leaf: str | None = None
    function: FunctionClass | None = None
    order: int | None = None
    raised: bool = False

    @property
    def site(self) -> Site | None:
        """The user's line. A node made in a backward without a user frame of its own answers with its parent's line."""
        return user_site(self.stack) or (self.parent.site if self.parent else None)

    @property
    def library(self) -> Site | None:
        """The library's line beside it, when the node was made inside a library."""
        return library_site(self.stack)

    @property
    def short_name(self) -> str:
        """Its name without C++ namespaces; a custom Function's as in eager mode, where torch.func gives it another."""
        return _short(self.name, self.function.name if self.function else None)

    @property
    def accumulates(self) -> bool:
        """Whether this node adds into a leaf's .grad."""
        return is_accumulate(self.name)


@lru_cache(maxsize=1024)
def _short(name: str, function: str | None) -> str:
    if function is not None and (name.endswith(GENERATED) or name.startswith(VMAPPED)):
        return f"{function.rpartition('.')[2]}Backward"
    return name.rpartition("::")[2]


@lru_cache(maxsize=1024)  # a large graph has few names, and each of its nodes is asked
def is_accumulate(name: str) -> bool:
    """Whether nodes of this name add into a leaf's .grad."""
    return name.rpartition("::")[2] == ACCUMULATE


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as Node
class Edge:
    """A gradient goes from output `output` of node `source` to input `input_nr` of node `target`."""

    source: int
    target: int
    output: int = 0
    input_nr: int = 0


@dataclass(frozen=True, slots=True)
class Root:
    """Where a gradient enters or is asked for: input `input_nr` of node `node`; node None when there is none."""

    node: int | None
    input_nr: int = 0


class OrderSource(enum.Enum):
    """Where the execution order of a backward comes from."""

    MEASURED = "measured"
    PREDICTED = "predicted"


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as Node
class Backward(Located):
    """One call into the engine: .backward() or autograd.grad. Times are seconds; `started` counts from the run's start.

    `number` counts the backward calls of the run from 0. `kind` is "backward" or "grad". `inputs` is None when
    the call named none. `exception` is "Type: message" when it raised. `nested_in` is the number of the
    backward during which this one started, and `nests` says whether others started during this one. `step` counts
    outermost backward calls from 0. `stopped` is the node in which it raised, None when that is not known.
    """

    number: int
    kind: str = "backward"
    roots: tuple[Root, ...] = ()
    inputs: tuple[Root, ...] | None = None
    keep_graph: bool = False
    create_graph: bool = False
    nested_in: int | None = None
    thread: int = 0
    stack: Stack = ()
    started: float = 0.0
    duration: float | None = None
    exception: str | None = None
    order_source: OrderSource = OrderSource.PREDICTED
    step: int = 0
    stopped: int | None = None
    nests: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """A recorded graph. `nodes[i].id == i`. Hooks fired are in firing order."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    backward: Backward
    firings: tuple[Firing, ...] = ()

    @property
    def roots(self) -> tuple[int, ...]:
        """Ids of the nodes at which the backward started."""
        return tuple(root.node for root in self.backward.roots if root.node is not None)
