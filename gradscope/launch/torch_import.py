"""Waits until a program has imported torch: what it sets in its environment before that decides how torch computes.

The surprise: many programs only ask whether torch is there (`importlib.util.find_spec`), and import it later, so being
asked is no sign. A recorder made meanwhile would be too early, and torch imported for it as well.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Generic, TypeVar

from gradscope.launch.recorded import Recordings

_Told = TypeVar("_Told")


class _Loader(importlib.abc.Loader):
    """Loads torch as its own loader would, then goes on to what waits for it."""

    def __init__(self, loader: importlib.abc.Loader, watcher: _Watcher) -> None:
        self._loader, self._watcher = loader, watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # a program that only asks may look at its loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__._initializing = False  # type: ignore[attr-defined]  # else other threads wait for us
        self._watcher.imported()


class _Watcher(importlib.abc.MetaPathFinder):
    """Waits for the first import of torch, and then is gone."""

    def __init__(self, begin: Callable[[], object]) -> None:
        self._begin = begin
        self._asks = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch" or self._asks:
            return None
        self._asks = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asks = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec

    def imported(self) -> None:
        """Torch is there."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._begin()


def when_imported(begin: Callable[[], object]) -> None:
    """Call `begin` as soon as torch has been imported, within that import; at once where it is there already."""
    if "torch" in sys.modules:
        begin()
    else:
        sys.meta_path.insert(0, _Watcher(begin))


class OnceTorchIsThere(Generic[_Told]):
    """Stands where a Recorder does, and makes it when the program has imported torch."""

    def __init__(self, make: Callable[[], Recordings[_Told]], in_child: Callable[[], object]) -> None:
        """`in_child`: what a child does that was forked before there was torch, once it has it."""
        self._make, self._in_child, self._process = make, in_child, os.getpid()
        self.command: tuple[str, ...] | None = None
        self.found: Recordings[_Told] | None = None  # None: no torch yet

    @property
    def abandoned(self) -> bool:
        """Whether this is a forked child."""
        return os.getpid() != self._process if self.found is None else self.found.abandoned

    def start(self) -> None:
        """The program begins."""
        when_imported(self._begin)

    def stop(self, error: BaseException | None = None, status: int | None = None) -> _Told | None:
        """The program has ended; None where it had no torch."""
        return None if self.found is None else self.found.stop(error, status)

    def _begin(self) -> None:
        if os.getpid() != self._process:
            self._in_child()
            return
        self.found = self._make()
        self.found.command = self.command
        self.found.start()
