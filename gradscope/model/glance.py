"""What a recording shows at a glance, while it is being written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModulePulse:
    """How a module fares: curves over the steps that were looked at, the last value last; empty where none was."""

    name: str
    gradients: tuple[float, ...]  # norms over its parameters
    updates: tuple[float, ...]  # shares of the elements that a step changed


@dataclass(frozen=True, slots=True)
class Glance:
    """One recording, or one rank of several. `step` is the last that ended, None for none; `pace` is steps a second and
    `backward_share` the share of time in backward over the last steps; `saved` the bytes of the last backward."""

    name: str
    state: str
    rank: int | None = None
    step: int | None = None
    steps: int = 0
    pace: float | None = None
    backward_share: float | None = None
    nodes: int | None = None
    saved: int | None = None
    loss: tuple[float, ...] = ()
    gradients: tuple[float, ...] = ()
    rate: float | None = None
    modules: tuple[ModulePulse, ...] = ()
    size: int = 0
    trouble: str | None = None
