"""What `gradscope doctor` found: versions, surroundings, what was seen of a small program, torch's private parts."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.torch_part import Checked, Lack, State


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that a small program did while it was recorded: whether the recording has it. `note` says why not."""

    what: str
    seen: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """`torch` is None when it is not installed; `details` says what each level of detail lacks."""

    versions: dict[str, str]
    torch: str | None
    surroundings: dict[str, str]
    details: dict[str, tuple[Lack, ...]]
    refused: str
    seen: tuple[Seen, ...]
    parts: tuple[Checked, ...]

    @property
    def well(self) -> bool:
        """Whether everything works: parts that only refine something may be missing."""
        sound = all(one.state is State.PRESENT or one.part.refines for one in self.parts)
        return self.torch is not None and not self.refused and sound and all(one.seen for one in self.seen)


def facts(health: Health) -> list[tuple[str, str]]:
    """Names and values: versions, surroundings, and each level of detail."""
    torch = "not installed: recordings can be read, not made" if health.torch is None else health.torch
    return [
        *health.versions.items(),
        ("torch", torch),
        *health.surroundings.items(),
        *((f"--detail {detail}", _works(health, lacks)) for detail, lacks in health.details.items()),
    ]


def seen_rows(health: Health) -> list[tuple[str, ...]]:
    """A row for each thing that the small program did, under headings."""
    rows = [(one.what, f"no: {one.note}" if one.note else "yes" if one.seen else "no") for one in health.seen]
    return [("a small program's", "seen"), *rows] if rows else []


def part_rows(health: Health) -> list[tuple[str, ...]]:
    """A row for each of torch's parts, under headings."""
    rows = [(one.part.capability, one.found or one.part.name, _state(one), one.part.gives) for one in health.parts]
    return [("for", "part of torch", "state", "what it gives"), *rows] if rows else []


def _works(health: Health, lacks: tuple[Lack, ...]) -> str:
    if health.torch is None:
        return "needs torch"
    if health.refused:
        return f"does not work: {health.refused}"
    return "works, but " + "; ".join(lack.sentence for lack in lacks) if lacks else "works"


def _state(one: Checked) -> str:
    return f"{one.state.value}: {one.note}" if one.note else one.state.value
