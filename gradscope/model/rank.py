"""One rank of a run of many processes, as its recording tells it, and its collectives."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradscope.model.site import Site

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


class State(enum.Enum):
    """How a rank ended."""

    DONE = "ended"
    RAISED = "raised"
    LOST = "lost a peer"
    KILLED = "killed, or still runs"


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective that a rank entered, on the way to backward `backward` or, `inside`, in it."""

    operator: str
    site: Site | None
    backward: int
    inside: bool = False

    @property
    def name(self) -> str:
        """`allreduce_` of `c10d.allreduce_.default`."""
        return self.operator.split(".")[1] if "." in self.operator else self.operator

    @property
    def words(self) -> str:
        """Its name and when."""
        return f"{self.name.strip('_')} {'in' if self.inside else 'on the way to'} backward {self.backward}"


@dataclass(frozen=True, slots=True)
class Weights:
    """The norms of a rank's parameters at a look: the call's number, and names with norms as they are stored."""

    backward: int
    norms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rank:
    """One process. `last` is the last operator that it ran, `at` the line at which its main thread stood when the
    recording was written to last, `seconds` how long it ran. `sequence` numbers its collectives, equal numbers for
    equal ones. `nonfinite` is the first backward whose root was not finite, and `born` where that came from."""

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
    nonfinite: int | None = None
    born: Site | None = None
    born_by: str | None = None
    reduced: bool = False

    @property
    def waits(self) -> bool:
        """Whether the last that it did was to enter a collective, and it did not end by itself."""
        return (
            self.state in (State.KILLED, State.LOST)
            and self.collective is not None
            and self.last == (self.collective.operator)
        )

    @property
    def place(self) -> Site | None:
        """The line where it is, or was, as far as is known."""
        if self.state is State.RAISED and self.failed_at is not None:
            return self.failed_at
        if self.waits and self.collective is not None:
            return self.collective.site or self.at
        return self.at or self.last_site
