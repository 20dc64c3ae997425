"""What `gradscope doctor` found: versions, surroundings, torch's private parts, and what works therefore."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.seam import Checked, State


@dataclass(frozen=True, slots=True)
class Health:
    """`torch` is None when it is not installed; `details` says of each level of detail what it lacks."""

    versions: dict[str, str]
    torch: str | None
    surroundings: dict[str, str]
    details: dict[str, tuple[str, ...]]
    seams: tuple[Checked, ...]

    @property
    def well(self) -> bool:
        """Whether everything works."""
        return self.torch is not None and all(seam.state is State.PRESENT for seam in self.seams)


def facts(health: Health) -> list[tuple[str, str]]:
    """Names and values: versions, surroundings, and each level of detail."""
    torch = "not installed: recordings can be read, not made" if health.torch is None else health.torch
    return [
        *health.versions.items(),
        ("torch", torch),
        *health.surroundings.items(),
        *((f"--detail {detail}", _works(health, lacks)) for detail, lacks in health.details.items()),
    ]


def seam_rows(health: Health) -> list[tuple[str, ...]]:
    """A row for each of torch's parts, under headings."""
    rows = [(seam.part, seam.name, _state(seam), seam.gives) for seam in health.seams]
    return [("for", "part of torch", "state", "what it gives"), *rows] if rows else []


def _works(health: Health, lacks: tuple[str, ...]) -> str:
    if health.torch is None:
        return "needs torch"
    return f"does not work: {', '.join(lacks)}" if lacks else "works"


def _state(seam: Checked) -> str:
    return f"{seam.state.value}: {seam.note}" if seam.note else seam.state.value
