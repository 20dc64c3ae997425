"""What this torch lacks, capability by capability: asked before each recording, and by `gradscope doctor`.

Before a recording only quick trials run, apart from the program's thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradscope.errors import UsageError
from gradscope.model.capabilities import CAPABILITIES, of_detail
from gradscope.model.torch_part import Checked, Lack, Part, PartTrial, State
from gradscope.torch_internals.apart import apart
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import TABLE
from gradscope.torch_internals.trials import TRIALS


def checked(part: Part, quick: bool = False) -> Checked:
    """Look for a part, and try it; `quick`: only where the trial is."""
    found = there(part)
    if found is None:
        return Checked(part, State.ABSENT)
    trial = TRIALS.get(part.name)
    note = "" if trial is None or (quick and not trial.quick) else _tried(trial)
    return Checked(part, State.CHANGED if note else State.PRESENT, found, note)


def _tried(trial: PartTrial) -> str:
    try:
        return trial.run() or ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def lacking(capabilities: Iterable[str]) -> tuple[Lack, ...]:
    """What of these capabilities cannot be had here, each with the first part that is missing or does something else.

    Raises UsageError when one of them is needed by every recording.
    """
    wanted = set(capabilities)
    parts = [part for part in TABLE if part.capability in wanted and not part.refines]
    found: dict[str, Lack] = {}
    for one in apart(lambda: [checked(part, quick=True) for part in parts]) if parts else ():
        name = one.part.capability
        if one.state is not State.PRESENT and name not in found:
            found[name] = Lack(name, CAPABILITIES[name].lost, f"torch {_version()} {one.sentence}")
    for lack in found.values():
        if CAPABILITIES[lack.capability].needed:
            raise UsageError(f"{lack.reason}, without which nothing can be recorded", _HINT)
    return tuple(found.values())


_HINT = "`gradscope doctor` says what works with this torch"


def of_level(detail: str, *more: str) -> tuple[Lack, ...]:
    """What a level of detail has to do without, and `more` capabilities. Raises UsageError as `lacking` does."""
    return lacking([*(one.name for one in of_detail(detail)), *more])


def require(*capabilities: str) -> None:
    """Raise UsageError when one of these capabilities, which a command or an option is for, cannot be had."""
    for lack in lacking(capabilities):
        raise UsageError(f"{lack.reason}, which this needs", _HINT)


def _version() -> str:
    import torch

    return torch.__version__
