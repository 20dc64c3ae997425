"""The run that was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradscope.model.torch_part import Lack

ORDERS = "orders"  # under which a run keeps the names in each DistributedDataParallel, in their order


@dataclass(frozen=True, slots=True)
class Run:
    """How and where the recorded program ran.

    `started` is seconds since the epoch, `duration` seconds (to the last commit while it still runs or was killed),
    `status` the exit status, None when the run did not end cleanly; `stopped` says why nothing more could be written
    before the run ended, such as a full disk; `rank` and `world_size` are None outside torchrun; `lacks` are the
    capabilities that were off, because this torch lacks what they need or because they went on failing. `switches` are
    torch's when the run ended, among them the seed;
    `steps_before` is how many steps the program had done when it was recorded on demand; `trigger` says what has had
    these steps recorded, or kept, without anybody asking; `process` tells the process from another that gets its
    number; `optimizer_steps_before` counts, by the optimizer's number, those of steps that are not there any more.
    """

    argv: tuple[str, ...]
    cwd: str
    gradscope: str
    torch: str
    python: str
    platform: str
    pid: int
    detail: str
    started: float
    duration: float = 0.0
    ended: bool = False
    status: int | None = None
    exception: str | None = None
    stopped: str | None = None
    rank: int | None = None
    world_size: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    lacks: tuple[Lack, ...] = ()
    switches: dict[str, str] = field(default_factory=dict)
    steps_before: int = 0
    trigger: str = ""
    process: str | None = None
    optimizer_steps_before: dict[str, int] = field(default_factory=dict)

    @property
    def program(self) -> str:
        """The script as it was typed, or the module's name; "" where nobody knows."""
        first, *rest = self.argv or ("",)
        return rest[0] if first == "-m" and rest else first


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong inside gradscope while it recorded; `count` times the same."""

    probe: str
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Census:
    """How much of everything a recording holds. `nodes` and `edges` are over all backwards, `graphs` the distinct
    ones; `repeated` are the operations of backwards that were not watched; `dropped` counts by reason what was not
    recorded or was given up. `steps` are the recorded ones, from `first_step` to `last_step`."""

    backwards: int
    graphs: int
    nodes: int
    edges: int
    operations: int
    repeated: int
    mutations: int
    saved: int
    hooks: int
    firings: int
    threads: int
    levels: tuple[str, ...]
    bytes: int
    dropped: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    first_step: int | None = None
    last_step: int | None = None
