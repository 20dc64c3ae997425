"""Torch's private parts that gradscope stands on: what each gives, who needs it, and how an installation has it."""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class State(str, enum.Enum):
    """Whether it is there and does what gradscope expects."""

    PRESENT = "present"
    CHANGED = "changed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found. `note` says in which way it has changed; without an `optional` one only `gives` is lost."""

    name: str
    part: str
    gives: str
    state: State
    note: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Seam:
    """One private part: a dotted name under torch (or the standard library), and what works through it.

    `works` tries it, and returns what is wrong or None; without one, being there is all that is asked. An `optional`
    seam costs only what it gives. `since` is the version of torch that has it first, where that is known.
    """

    name: str
    part: str
    gives: str
    works: Callable[[], str | None] | None = None
    optional: bool = False
    since: str = ""

    def owner(self) -> Any:
        """The object that has it as an attribute. Raises ImportError or AttributeError when it is not there."""
        path, _, last = self.name.rpartition(".")
        found = find(path)
        if not hasattr(found, last):
            find(self.name)
        return found

    @property
    def last(self) -> str:
        """Its name in its owner."""
        return self.name.rpartition(".")[2]

    def state(self) -> State:
        """Whether it is there."""
        try:
            find(self.name)
        except (ImportError, AttributeError):
            return State.ABSENT
        return State.PRESENT

    def checked(self) -> Checked:
        """Look for it, and try it."""
        state, note = self.state(), ""
        if state is State.PRESENT and self.works is not None:
            try:
                note = self.works() or ""
            except Exception as error:
                note = f"{type(error).__name__}: {error}"
            state = State.CHANGED if note else state
        return Checked(self.name, self.part, self.gives, state, note, self.optional)


def find(name: str) -> Any:
    """What a dotted name stands for. Raises ImportError or AttributeError."""
    module, _, rest = name.partition(".")
    found = importlib.import_module(module)
    for part in filter(None, rest.split(".")):
        module = f"{module}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                raise AttributeError(f"{name} ends at {part}") from None
        found = getattr(found, part)
    return found
