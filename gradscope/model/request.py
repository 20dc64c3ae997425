"""What can be asked of an armed program, and what it tells of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gradscope.model.detail import Detail

STEPS = 20  # of a recording on demand, unless somebody says otherwise
MOST = 10**12  # steps, and anything else that is a number in a message


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """The next `steps` steps at a detail; `at` is the first of them, None for the next one that begins."""

    steps: int = STEPS
    detail: str = Detail.FULL.value
    at: int | None = None

    @classmethod
    def read(cls, message: dict[str, Any]) -> RecordRequest:
        """Read it from a message. Raises ValueError with a sentence."""
        steps, detail, at = message.get("steps"), message.get("detail"), message.get("at")
        if not _is_number(steps) or not steps:
            raise ValueError("a recording takes a whole number of steps from 1 on")
        if detail not in [one.value for one in Detail]:
            raise ValueError("there are the details nodes, ops and full")
        if at is not None and not _is_number(at):
            raise ValueError("steps are counted from 0")
        return cls(steps, detail, at)

    def message(self) -> dict[str, Any]:
        """What `read` reads."""
        return {"ask": "record", **asdict(self)}


@dataclass(frozen=True, slots=True)
class ArmedProgram:
    """An armed program: how many steps it has done, and the recording that it writes now. `group` is shared by the
    ranks of one run."""

    pid: int
    program: str
    step: int
    rank: int | None = None
    world_size: int | None = None
    group: str | None = None
    recording: str | None = None
    waiting: bool = False  # somebody has asked for a recording that has not begun

    @classmethod
    def read(cls, message: dict[str, Any]) -> ArmedProgram:
        """Read it from a message. Raises ValueError with a sentence."""
        pid, program, step = message.get("pid"), message.get("program"), message.get("step")
        rank, world_size = message.get("rank"), message.get("world_size")
        group, recording = message.get("group"), message.get("recording")
        numbers = (pid, step, *(one for one in (rank, world_size) if one is not None))
        texts = (program, *(one for one in (group, recording) if one is not None))
        if not all(map(_is_number, numbers)) or not all(isinstance(one, str) for one in texts):
            raise ValueError("it tells nothing that makes sense of itself")
        known = rank, world_size, group, recording
        return cls(int(pid or 0), str(program), int(step or 0), *known, waiting=bool(message.get("waiting")))

    def message(self) -> dict[str, Any]:
        """What `read` reads."""
        return asdict(self)

    @property
    def name(self) -> str:
        """What to call it: the program, and which rank of how many."""
        return self.program if self.rank is None else f"{self.program} rank {self.rank} of {self.world_size}"


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
