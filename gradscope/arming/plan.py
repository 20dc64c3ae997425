"""How a process is to be recorded, read from the options of `gradscope trace`: all that can be wrong is said before
the program begins, and before there is torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradscope import bounds
from gradscope.arming.asking_signal import signal_number
from gradscope.errors import UsageError
from gradscope.model.detail import Detail
from gradscope.model.limits import Limits
from gradscope.model.trigger import Trigger
from gradscope.model.window import Window

_OTHERS = ("watch_all", "joint", "compiled_autograd")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to record, and when. `tensors`: bytes of tensors to store, None for none; `options`: the Recorder's.

    `rotate`: steps of a file, None for one file, of which the last `files` are kept. `armed`: record nothing until
    asked, also by the signal `signal`. At most `most` recordings are begun by `triggers`.
    """

    detail: Detail
    window: Window
    limits: Limits
    tensors: int | None
    options: Mapping[str, Any]
    rotate: int | None
    files: int
    armed: bool
    signal: int | None
    triggers: tuple[Trigger, ...]
    most: int

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Plan:
        """Read it. Raises UsageError when an option is wrong, and when two do not go together."""
        stored = settings["tensors"] or settings["tensors_limit"]
        arm = settings["arm"]
        plan = cls(
            Detail(settings["detail"]),
            bounds.window(settings["steps"], settings["keep_last"]),
            bounds.limits(settings["max_size"], settings["max_overhead"]),
            bounds.tensor_limit(settings["tensors_limit"]) if stored else None,
            {name: settings[name] for name in _OTHERS},
            settings["rotate"],
            settings["rotate_keep"],
            arm is not None,
            signal_number(arm or ""),
            _triggers(settings["triggers"]),
            settings["trigger_limit"],
        )
        plan._require_that_they_go_together()
        return plan

    def _require_that_they_go_together(self) -> None:
        if self.rotate is not None:
            if self.triggers or self.armed or self.window != Window():
                told = "leave --arm, --steps, --keep-last and --trigger out"
                raise UsageError("--rotate records all steps, into one file after the other", told)
        elif self.armed:
            if self.window != Window():
                told = "leave --steps and --keep-last out"
                raise UsageError("--arm waits to be asked which steps to record", told)
            if any(not one.kind.armed for one in self.triggers):
                told = "--keep-last N keeps the last ones"
                raise UsageError("no step follows on SIGTERM that could be recorded", told)
        elif self.triggers and self.window.keep is None:
            told = "give --keep-last N, or --arm to record the next steps"
            raise UsageError("--trigger has nothing to keep here", told)


def _triggers(texts: Sequence[str]) -> tuple[Trigger, ...]:
    try:
        return tuple(Trigger.parse(one) for text in texts for one in text.split(","))
    except ValueError as error:
        raise UsageError(str(error), "--trigger nonfinite, --trigger slow=5") from None
