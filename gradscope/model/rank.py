"""One rank of a run of many processes, as its recording tells it, and its collectives."""

from __future__ import annotations

import enum
import math
from array import array
from dataclasses import dataclass

from gradscope.model.site import Site
from gradscope.model.tensor import TensorType

# what torch.distributed raises in a rank because another one is gone
LOST_A_PEER = (
    "DistNetworkError",
    "DistBackendError",
    "Connection closed by peer",
    "Connection reset by peer",
    "Timed out waiting",
    "Broken pipe",
    "Application timeout caused pair closure",
    "gloo/transport",
)


WAITS = "_c10d_functional.wait_tensor.default"
_ENDS_A_REGION = "profiler._record_function_exit"  # which runs as well when an exception leaves it


class State(enum.Enum):
    """How a rank ended."""

    DONE = "ended"
    RAISED = "raised"
    LOST = "lost a peer"
    KILLED = "killed, or still runs"


# Collectives whose ranks must all give tensors of the same size and dtype.
_EQUAL = frozenset(
    (
        *("allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "_allgather_base_", "_reduce_scatter_base_"),
        *("all_reduce", "all_reduce_", "broadcast", "broadcast_", "all_gather_into_tensor", "reduce_scatter_tensor"),
    )
)


_EQUAL_BY_GLOO = frozenset(("allgather_",))  # which takes no lists of tensors of several sizes, as others do


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """Ranks that meet, and by what they talk. `before` counts what they had entered before the recording began."""

    name: str
    backend: str
    members: tuple[int, ...]
    before: int | None = None

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """What tells it from others: equal on all of its ranks."""
        return self.name, self.members


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective that a rank entered, on the way to backward `backward` or, `inside`, in it.

    `types` are those of what it sends or receives into, `peer` is the rank that it sends to or receives from, or the
    root; `sequence` its place in its group, None between two ranks and where it is not known; `waited` the line that
    waited for its result, where it is an asynchronous one that was waited for by an operator.
    """

    operator: str
    site: Site | None
    backward: int
    inside: bool = False
    group: ProcessGroup | None = None
    types: tuple[TensorType, ...] = ()
    size: int = 0
    peer: int | None = None
    asynchronous: bool = False
    sequence: int | None = None
    between_two: bool = False
    waited: Site | None = None

    @property
    def name(self) -> str:
        """`allreduce` of `c10d.allreduce_.default`."""
        return (self.operator.split(".")[1] if "." in self.operator else self.operator).strip("_")

    @property
    def words(self) -> str:
        """Its name, its peer between two, and when."""
        peer = "" if not self.between_two or self.peer is None else f" of rank {self.peer}"
        return f"{self.name}{peer} {'in' if self.inside else 'on the way to'} backward {self.backward}"

    @property
    def sends(self) -> bool:
        """Whether it sends, where it is between two."""
        return self.name in ("send", "isend")

    @property
    def tensors(self) -> str:
        """What it is given."""
        return ", ".join(map(str, self.types))

    @property
    def _by_gloo(self) -> bool:
        here = all(one.device == "cpu" for one in self.types)
        return here and self.group is not None and "gloo" in self.group.backend

    @property
    def must_agree(self) -> tuple[str, tuple[tuple[int, str], ...], int | None]:
        """What all ranks that meet in it must have alike: operator, sizes and dtypes where they count, and the root."""
        operator = self.operator.split(".")[1] if "." in self.operator else self.operator
        root = None if self.between_two else self.peer
        if operator not in _EQUAL and not (operator in _EQUAL_BY_GLOO and self._by_gloo):
            return operator, (), root
        return operator, tuple((math.prod(one.shape), one.dtype) for one in self.types), root


@dataclass(frozen=True, slots=True)
class Weights:
    """The norms of a rank's parameters or buffers at a look: the call's number, names, and norms as they are stored."""

    backward: int
    norms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a rank was on the way to each of its first backward calls but one, in seconds, and with these in all."""

    ways: array[float]
    seconds: float


@dataclass(frozen=True, slots=True)
class Rank:
    """One process. `last` is the last operator that it ran, `at` the line at which its main thread stood when the
    recording was written to last, `seconds` how long it ran. `missing` are the ranks that have not entered the
    collective that it entered last, None when that is not known. `nonfinite` is the first backward whose root was not
    finite, and `born` where that came from; `nonfinite_gradient` that after which a leaf's gradient was not."""

    path: str
    rank: int
    world_size: int | None
    pid: int
    started: float
    seconds: float
    state: State
    exception: str | None
    failed_at: Site | None
    backwards: int
    last: str | None
    last_site: Site | None
    at: Site | None
    collectives: int
    collective: Collective | None
    missing: tuple[int, ...] | None = None
    nonfinite: int | None = None
    born: Site | None = None
    born_by: str | None = None
    nonfinite_gradient: int | None = None

    @property
    def waits(self) -> bool:
        """Whether the last that it did was to enter a collective, and it did not end by itself."""
        if self.state not in (State.KILLED, State.LOST) or self.collective is None:
            return False
        if self.state is State.KILLED and self.missing == ():
            return False  # all others had come
        return self.last in (self.collective.operator, WAITS) or self._failed_in_a_region(self.collective)

    def _failed_in_a_region(self, last: Collective) -> bool:
        """Whether it lost its peer in a collective that stands in a region of the profiler's, as those of FSDP do."""
        ended = self.last is not None and self.last.startswith(_ENDS_A_REGION)
        there, here = self.failed_at, last.site
        failed = there is not None and here is not None and (there.file, there.line) == (here.file, here.line)
        return self.state is State.LOST and ended and failed

    @property
    def place(self) -> Site | None:
        """The line where it is, or was, as far as is known."""
        if self.state is State.RAISED and self.failed_at is not None:
            return self.failed_at
        if self.waits and self.collective is not None:
            late = self.collective.waited or (self.at if self.collective.asynchronous else None)
            return late or self.collective.site or self.at  # of an asynchronous one, where its result is waited for
        return self.at or self.last_site
