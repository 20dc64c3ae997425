"""Private parts of torch that gradscope stands on: what each gives, and how an installation has it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass


class State(str, enum.Enum):
    """Whether a part is there and does what gradscope expects."""

    PRESENT = "present"
    CHANGED = "changed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that gradscope can do with a torch that has the parts for it.

    `lost` says, as a clause, what is missing without it; `needed` is True where no recording can do without. `detail`
    is the first level of detail that uses it, "" for what only a command or an option uses.
    """

    name: str
    lost: str
    detail: str = "nodes"
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One private part: a dotted name under torch (or the standard library), and what works through it.

    `capability` is the name of the one that is lost without it. `variants` are names that do the same in other
    versions, tried in their order when `name` is not there. `refines` is True where only a refinement is lost: what
    uses the part does without.
    """

    name: str
    capability: str
    gives: str
    variants: tuple[str, ...] = ()
    refines: bool = False


@dataclass(frozen=True, slots=True)
class PartTrial:
    """Uses a part, and returns what is wrong or None; a part without one only has to be there.

    `quick` trials also run before every recording: they may not start torch's engine, whose threads would keep the
    program from forking.
    """

    run: Callable[[], str | None]
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of a part. `found` is the variant that is there, `note` says in which way it has changed."""

    part: Part
    state: State
    found: str = ""
    note: str = ""

    @property
    def sentence(self) -> str:
        """What is wrong with it, as the end of a sentence that begins with a version of torch."""
        return (
            f"has no {self.part.name}" if self.state is State.ABSENT else f"has another {self.part.name}: {self.note}"
        )


@dataclass(frozen=True, slots=True)
class Lack:
    """A capability that a run, or an installation, does without, and why: "torch 2.9.1 has no ..."."""

    capability: str
    lost: str
    reason: str

    @property
    def sentence(self) -> str:
        """Both in one sentence, without a full stop."""
        return f"{self.lost}: {self.reason}"
