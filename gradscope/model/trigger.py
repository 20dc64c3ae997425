"""What may have an armed program record, or a ring keep its steps, without anybody asking."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST = 5  # recordings that triggers make in one run, unless somebody says otherwise


@dataclass(frozen=True, slots=True)
class TriggerKind:
    """A kind of happening. `factor` is the usual K of `KIND=K`, None where there is none; `armed`: whether the program
    goes on after it, so that its next steps can be recorded."""

    name: str
    met: str
    factor: float | None = None
    armed: bool = True


TRIGGERS = (
    TriggerKind("nonfinite", "the loss or a gradient is NaN or infinite"),
    TriggerKind("gradient", "the norm of the gradients is over K times its running median", 10),
    TriggerKind("loss", "the loss is above its running median by K times its usual distance from it", 20),
    TriggerKind("slow", "a step takes over K times the running median, and a tenth of a second more than that", 5),
    TriggerKind("exception", "a backward call raises, and the program may catch it"),
    TriggerKind("sigterm", "SIGTERM comes", armed=False),
)
_BY_NAME = {kind.name: kind for kind in TRIGGERS}


@dataclass(frozen=True, slots=True)
class Trigger:
    """A kind that was asked for, with its K."""

    kind: TriggerKind
    factor: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Trigger:
        """Read `KIND` or `KIND=K`. Raises ValueError with a sentence."""
        name, equals, number = text.strip().partition("=")
        kind = _BY_NAME.get(name)
        if kind is None:
            raise ValueError(f"there is no trigger {name!r}, but {', '.join(_BY_NAME)}")
        if not equals:
            return cls(kind, kind.factor or 0.0)
        if kind.factor is None:
            raise ValueError(f"the trigger {name} takes no number")
        return cls(kind, _factor(name, number))


def _factor(name: str, text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 1 < factor < math.inf:
        raise ValueError(f"{text!r} is no number above 1, as {name}=K takes it")
    return factor
