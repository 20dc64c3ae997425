"""Whose code a file is: the user's, a library's, or torch's. Decided when a frame is recorded, on its own machine."""

from __future__ import annotations

import functools
import itertools
import os
import site
import sys
import sysconfig
from types import ModuleType

from gradscope.model.site import Origin

USER, LIBRARY, TORCH = 0, 1, 2
ORIGINS = (Origin.USER, Origin.LIBRARY, Origin.TORCH)


@functools.lru_cache(maxsize=4096)
def origin_of(file: str) -> int:
    """0 user, 1 library, 2 torch. Installed packages, the standard library and frozen code are libraries."""
    if not file or file.startswith("<frozen"):
        return LIBRARY
    if file.startswith("<"):
        return USER  # -c, exec, a notebook cell
    for folder in _library_folders():
        if file.startswith(folder):
            rest = file[len(folder) :]
            return TORCH if rest.startswith((f"torch{os.sep}", f"functorch{os.sep}")) else LIBRARY
    return USER


def users_modules(most: int) -> list[str]:
    """The files of the modules of the user's own that are loaded, in that order, `most` of them."""
    modules = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    files = (object.__getattribute__(module, "__dict__").get("__file__") for module in modules)  # not to load lazy ones
    own = (file for file in files if isinstance(file, str) and file.endswith(".py") and origin_of(file) == USER)
    return list(itertools.islice(own, most))


def whose(file: str) -> Origin:
    """The same, as the model's Origin."""
    return ORIGINS[origin_of(file)]


@functools.lru_cache(maxsize=1)
def _library_folders() -> tuple[str, ...]:
    """Where packages lie, longest first: site-packages lies inside the standard library's folder."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update(site.getsitepackages(), [site.getusersitepackages()])
    folders.update(path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
    folders.add(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # gradscope itself
    return tuple(sorted((folder.rstrip(os.sep) + os.sep for folder in folders if folder), key=len, reverse=True))
