"""Arms a program as a user writes it: which signal asks, and what each recording has of the usual options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradscope.arming.armed import Armed, MakeRecorder
from gradscope.arming.asking_signal import signal_number
from gradscope.arming.ring import Ring
from gradscope.arming.rotation import Rotation
from gradscope.capture import Recorder
from gradscope.errors import UsageError
from gradscope.model.detail import Detail
from gradscope.model.limits import Limits
from gradscope.model.request import RecordRequest
from gradscope.model.trigger import MOST, Trigger
from gradscope.model.window import Window


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for recordings, as a user writes it: the signal of --arm (None: not armed), and the triggers."""

    signal: str | None
    triggers: tuple[str, ...] = ()
    most: int = MOST

    def wanted(self) -> tuple[Trigger, ...]:
        """The triggers. Raises UsageError."""
        try:
            found = tuple(Trigger.parse(one) for text in self.triggers for one in text.split(","))
        except ValueError as error:
            raise UsageError(str(error), "--trigger nonfinite, --trigger slow=5") from None
        if self.signal is not None and any(not one.kind.armed for one in found):
            raise UsageError("no step follows on SIGTERM that could be recorded", "--keep-last N keeps the last ones")
        return found


@dataclass(frozen=True, slots=True)
class Rotate:
    """A new file each `steps` steps (None: one for all), of which the last `files` are kept."""

    steps: int | None
    files: int
    late: bool = False  # the first one only when there is something in it


def rotated(
    make: MakeRecorder, path: Path, detail: str, bounds: tuple[Window, Limits], asked: Asked, rotate: Rotate
) -> Rotation:
    """What records into one file after the other.

    Raises UsageError when the options do not go together, and when the first file cannot be written.
    """
    window, limits = bounds
    if asked.triggers or asked.signal is not None or window != Window():
        told = "leave --arm, --steps, --keep-last and --trigger out"
        raise UsageError("--rotate records all steps, into one file after the other", told)

    def recorder(where: Path, **more: Any) -> Recorder:
        return make(where, Detail(detail), window, limits, **more)

    return Rotation(recorder, path, rotate.steps or 1, rotate.files, rotate.late)


def kept(make: Callable[[], Recorder], window: Window, asked: Asked) -> Recorder | Ring:
    """What records, and keeps the last steps when a trigger is met. Raises UsageError, before a file is made."""
    wanted = asked.wanted()
    if wanted and window.keep is None:
        raise UsageError("--trigger has nothing to keep here", "give --keep-last N, or --arm to record the next steps")
    recorder = make()
    return Ring(recorder, wanted, asked.most) if wanted else recorder


def armed(make: MakeRecorder, path: Path, detail: str, bounds: tuple[Window, Limits], asked: Asked) -> Armed:
    """A program that records when it is asked to.

    Raises UsageError when the options do not go together.
    """
    window, limits = bounds
    if window != Window():
        raise UsageError("--arm waits to be asked which steps to record", "leave --steps and --keep-last out")

    def recorder(where: Path, chosen: Detail, steps: Window, **more: Any) -> Recorder:
        return make(where, chosen, steps, limits, **more)

    number = signal_number(asked.signal or "")
    return Armed(recorder, path, RecordRequest(detail=detail), number, asked.wanted(), asked.most)
