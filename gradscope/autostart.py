"""Starts a recording in a program whose command line cannot be edited: GRADSCOPE_TRACE=PATH in the environment.

`gradscope_autostart.pth` imports this at Python's start. Torch is not imported for it: the recording begins when
the program itself has imported torch, so that a launcher which never does leaves no file.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradscope.arming.armed import Armed, MakeRecorder
    from gradscope.arming.ring import Ring
    from gradscope.arming.rotation import Rotation
    from gradscope.arming.setting import Asked
    from gradscope.capture import Recorder
    from gradscope.model.limits import Limits
    from gradscope.model.window import Window

VARIABLE = "GRADSCOPE_TRACE"
Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


class _Loader(importlib.abc.Loader):
    """Loads torch as its own loader would, then starts the recording."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__._initializing = False  # type: ignore[attr-defined]  # else other threads wait for us
        start()


class _Watcher(importlib.abc.MetaPathFinder):
    """Waits for the first import of torch, and then is gone."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def watch() -> None:
    """Wait for torch, unless this process is gradscope itself."""
    if os.environ.get(VARIABLE) and "torch" not in sys.modules:
        sys.meta_path.insert(0, _Watcher())


def start() -> None:
    """Start the recording that the environment asks for; what is wrong is said in one line, the program goes on."""
    if "gradscope.cli" in sys.modules or "gradscope.capture" in sys.modules:
        return  # gradscope itself, or a program that records itself
    from gradscope.errors import GradscopeError

    try:
        wanted = _settings()
        from gradscope import bounds as limits_given
        from gradscope import capture
        from gradscope.arming import setting
        from gradscope.model.detail import Detail

        bounds = (
            limits_given.window(wanted["steps"], wanted["keep_last"]),
            limits_given.limits(wanted["max_size"], wanted["max_overhead"]),
        )
        where, arm = _armed(os.environ[VARIABLE])
        asked = setting.Asked(arm, wanted["triggers"], wanted["trigger_limit"])
        path, record = _path(Path(where)), partial(capture.Recorder, watch_all=wanted["watch_all"])
        rotate = setting.Rotate(wanted["rotate"], wanted["rotate_keep"], late=True)
        if arm is not None and rotate.steps is None:
            _arm(record, path, wanted["detail"], bounds, asked)
            return
        recorder: Recorder | Ring | Rotation
        if rotate.steps is not None:
            recorder = setting.rotated(record, path, wanted["detail"], bounds, asked, rotate)
        else:
            whole = partial(record, path, Detail(wanted["detail"]), *bounds, late=True)
            recorder = setting.kept(whole, bounds[0], asked)
        recorder.start()
    except GradscopeError as error:
        print(f"gradscope: not recording: {error.sentence}", file=sys.stderr)
        return
    uncaught: list[BaseException] = []
    atexit.register(_stop, recorder, uncaught)
    sys.excepthook = _without_our_frames(sys.excepthook, uncaught)


def _armed(wanted: str) -> tuple[str, str | None]:
    """Where to record, and the signal behind `:arm=`; None when it is not to be armed."""
    where, colon, arm = wanted.rpartition(":")
    if not colon or arm.partition("=")[0] != "arm":
        return wanted, None
    return where or ".", arm.partition("=")[2]


def _arm(record: MakeRecorder, path: Path, detail: str, bounds: tuple[Window, Limits], asked: Asked) -> None:
    """Wait to be asked for recordings."""
    from gradscope.arming import setting

    armed = setting.armed(record, path, detail, bounds, asked)
    armed.start()
    atexit.register(_disarm, armed)
    sys.excepthook = _without_our_frames(sys.excepthook, [])


def attach() -> str:
    """Arm this program, which runs already and was started without gradscope; answers why not, "" when it is done.

    It listens at once, because its next step may be long in coming, and counts steps from now on.
    """
    from gradscope import capture
    from gradscope.arming.armed import Armed
    from gradscope.errors import GradscopeError
    from gradscope.model.request import RecordRequest

    if Armed.running is not None:
        return ""
    if capture.Recorder.running is not None:
        return f"it records itself already, into {capture.Recorder.running.path}"
    armed = Armed(capture.Recorder, _path(Path(os.environ.get("GRADSCOPE_DIR") or ".")), RecordRequest())
    armed.start()
    try:
        armed.listen()
    except GradscopeError as error:
        armed.stop()
        return error.sentence
    atexit.register(_disarm, armed)
    sys.excepthook = _without_our_frames(sys.excepthook, [])
    return ""


def _disarm(armed: Armed) -> None:
    """Say nothing, unless something that was asked for could not be."""
    armed.stop()
    if not armed.abandoned:
        for sentence in armed.trouble:
            print(f"gradscope: not recorded: {sentence}", file=sys.stderr)


def _stop(recorder: Recorder | Ring | Rotation, uncaught: list[BaseException]) -> None:
    """Close the recording in silence, unless something is wrong with it."""
    summary = recorder.stop(uncaught.pop() if uncaught else None)
    if recorder.abandoned:
        return
    if summary.failure:
        print(f"gradscope: the recording stopped early: {summary.failure}", file=sys.stderr)
    if summary.faults:
        count = sum(summary.faults.values())
        print(f"gradscope: {count} faults of its own, see: gradscope info {summary.path}", file=sys.stderr)


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


def _without_our_frames(show: Hook, uncaught: list[BaseException]) -> Hook:
    from gradscope.probes.core.traceback_filter import clean

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        clean(error)
        uncaught[:] = [error]
        show(kind, error, error.__traceback__)

    return excepthook


def _path(wanted: Path) -> Path:
    """A folder gets the usual name in it; a taken file, or one shared by ranks, gets the rank or the process in it."""
    from gradscope import capture

    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None) or (
        sys.argv[0] if sys.argv and sys.argv[0] not in ("-c", "-m") else "command"
    )
    usual = capture.default_path(Path(script).stem, wanted if wanted.is_dir() else wanted.parent)
    if wanted.is_dir():
        return usual
    if os.environ.get("RANK", "").isdigit() or wanted.exists():
        return wanted.with_name(usual.name.replace(Path(script).stem, wanted.stem, 1))
    return wanted


watch()
