"""One of torch's private parts that gradscope stands on, as it was found on an installation."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
