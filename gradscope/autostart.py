"""Starts a recording in a program whose command line cannot be edited: GRADSCOPE_TRACE=PATH in the environment.

`gradscope_autostart.pth` imports this at Python's start. Torch is not imported for it: the recording begins when
the program itself has imported torch, so that a launcher which never does leaves no file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gradscope.launch.handing_on import Children, HandingOn
from gradscope.launch.paths import default_path
from gradscope.launch.torch_import import when_imported
from gradscope.model.family import OF_PARENTS, Family

VARIABLE = "GRADSCOPE_TRACE"


def watch() -> None:
    """Wait for torch, unless this process is gradscope itself."""
    wanted = os.environ.get(VARIABLE)
    if not wanted or "torch" in sys.modules:
        return
    family = Family.read(wanted) if wanted.startswith("{") else None
    if family is not None:
        del os.environ[VARIABLE]  # the program never sees it
    when_imported(start if family is None else _as_child(family))


def _as_child(family: Family) -> Callable[[], object]:
    """What this process does once it has torch: a child of one that is recorded."""
    typed = tuple(sys.orig_argv)
    if not family.has(typed, os.environ):
        return partial(_begin, _leave_a_mark, family)
    is_rank, is_worker = family.made_rank(os.environ), family.is_worker(typed)
    family = family.of(os.environ)
    handing_on = HandingOn(family.text, direct=family.which == OF_PARENTS[1])
    handing_on.put()
    return partial(_begin, _join, family, is_rank, is_worker)


def _begin(what: Callable[..., object], *arguments: Any) -> None:
    if "gradscope.cli" not in sys.modules and "gradscope.capture" not in sys.modules:
        what(*arguments)  # else gradscope itself, or a program that records itself


def _leave_a_mark(family: Family) -> None:
    from gradscope.arming.mark import leave_a_mark

    leave_a_mark(Path(family.unrecorded))


def _join(family: Family, is_rank: bool, is_worker: bool) -> None:
    from gradscope import children

    title = family.title if is_worker else Path(_script()).stem
    children.join(family, title, is_rank)


def start() -> None:
    """Start the recording that the environment asks for; what is wrong is said in one line, the program goes on."""
    if "gradscope.cli" in sys.modules or "gradscope.capture" in sys.modules:
        return  # gradscope itself, or a program that records itself
    from gradscope.errors import GradscopeError

    try:
        wanted = _settings()

        where, arm = _armed(os.environ[VARIABLE])
        wanted["arm"] = arm
        _start(Path(where), wanted)
    except GradscopeError as error:
        _say(f"not recording: {error.sentence}")
        return
    if arm is None:
        Children.forked = partial(_start, Path(where), wanted)


def _start(where: Path, wanted: dict[str, Any]) -> None:
    from gradscope import children
    from gradscope.arming.plan import Plan
    from gradscope.arming.recorder import recorder

    children.Recorded(recorder(Plan.read(wanted), _path(where), late=True), _say).start()


def _say(sentence: str) -> None:
    print(f"gradscope: {sentence}", file=sys.stderr)


def _armed(wanted: str) -> tuple[str, str | None]:
    """Where to record, and the signal behind `:arm=`; None when it is not to be armed."""
    where, colon, arm = wanted.rpartition(":")
    if not colon or arm.partition("=")[0] != "arm":
        return wanted, None
    return where or ".", arm.partition("=")[2]


def attach() -> str:
    """Arm this program, which runs already and was started without gradscope; answers why not, "" when it is done.

    It listens at once, because its next step may be long in coming, and counts steps from now on.
    """
    from gradscope import capture, children
    from gradscope.arming.armed import Armed
    from gradscope.errors import GradscopeError
    from gradscope.model.request import RecordRequest

    if Armed.running is not None:
        return ""
    if capture.Recorder.running is not None:
        return f"it records itself already, into {capture.Recorder.running.path}"
    armed = Armed(capture.Recorder, _path(Path(os.environ.get("GRADSCOPE_DIR") or ".")), RecordRequest())
    recorded = children.Recorded(armed, _say)
    recorded.start()
    try:
        armed.listen()
    except GradscopeError as error:
        armed.stop()
        return error.sentence
    return ""


def _settings() -> dict[str, Any]:
    """What `gradscope trace` would do here without options: pyproject.toml and GRADSCOPE_* say. Raises UsageError."""
    import click

    from gradscope.commands import settings, trace
    from gradscope.errors import UsageError

    found = settings.defaults("trace", trace.command)
    try:
        return trace.command.make_context("trace", ["-c", ""], default_map=found).params
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None


def _path(wanted: Path) -> Path:
    """A folder gets the usual name in it; a taken file, or one shared by ranks, gets the rank or the process in it."""
    script = _script()
    usual = default_path(Path(script).stem, wanted if wanted.is_dir() else wanted.parent)
    if wanted.is_dir():
        return usual
    if os.environ.get("RANK", "").isdigit() or wanted.exists():
        return wanted.with_name(usual.name.replace(Path(script).stem, wanted.stem, 1))
    return wanted


def _script() -> str:
    """The file of the program that runs here."""
    main = sys.modules.get("__main__")
    first = sys.argv[0] if sys.argv and sys.argv[0] not in ("-c", "-m") else "command"
    return getattr(main, "__file__", None) or first


watch()
