"""From the words on the command line to classes: dotted names, modules, files and patterns.

Importing user code may do anything; whatever it raises becomes one sentence plus the user's own trimmed traceback.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from gradscope.errors import UsageError
from gradscope.functions.packages import root_and_name
from gradscope.functions.source import read_method
from gradscope.functions.subject import METHODS


def make_working_directory_importable() -> None:
    """Put the working directory on the path, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def resolve(name: str) -> Any:
    """The object behind `pkg.mod.Name`, `pkg.mod:Name` or `path/file.py:Name`; a module for a module's name or path."""
    head, _, tail = name.partition(":")
    if head.endswith(".py"):
        module: Any = module_from_path(Path(head))
        return attribute(module, tail.split("."), name) if tail else module
    if os.sep in head:
        raise UsageError(f"there is no folder {head}")
    parts = name.replace(":", ".").split(".")
    if not all(part.isidentifier() for part in parts):
        raise UsageError(
            f"{name!r} is not a dotted name",
            "write pkg.mod.Name, pkg.mod:Name, path/to/file.py:Name or a folder",
        )
    if tail:
        return attribute(import_module(head, name), tail.split("."), name)
    module, rest = longest_module(parts, name)
    return attribute(module, rest, name)


def longest_module(parts: list[str], name: str) -> tuple[ModuleType, list[str]]:
    """Import as many leading parts as are a module; the rest are attributes."""
    module: ModuleType | None = None
    for count in range(1, len(parts) + 1):
        dotted = ".".join(parts[:count])
        if module is not None and hasattr(module, parts[count - 1]) and not is_module(dotted):
            return module, parts[count - 1 :]
        try:
            module = import_module(dotted, name)
        except UsageError:
            if module is None or is_module(dotted):
                raise
            return module, parts[count - 1 :]
    assert module is not None
    return module, []


def is_module(dotted: str) -> bool:
    """Whether Python can find a module of that name, without running it."""
    try:
        return importlib.util.find_spec(dotted) is not None
    except (ImportError, AttributeError, ValueError):
        return False


def import_module(dotted: str, name: str) -> ModuleType:
    """Import one module, or say in one sentence why that cannot be."""
    if not is_module(dotted):
        raise UsageError(
            f"there is no module {dotted!r} to import for {name!r}",
            "run from the repository's root, or install the package",
        )
    try:
        return importlib.import_module(dotted)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"importing {dotted} raises {type(error).__name__}: {error}", trimmed_traceback(error)
        ) from None


def module_from_path(path: Path) -> ModuleType:
    """Import a file as a module of its package, or named after it, with its folder importable for its neighbours."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    root, name = root_and_name(path)
    if root != path.resolve().parent:
        sys.path.insert(0, str(root))
        return import_module(name, str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"importing {path} raises {type(error).__name__}: {error}", trimmed_traceback(error)) from None
    return module


def trimmed_traceback(error: BaseException) -> str:
    """The user's frames of a traceback: import machinery and gradscope left out."""
    ours = str(Path(__file__).parent.parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<frozen")) and "importlib" not in frame.filename
    ]
    return "\n".join(["the traceback of your code:", *(line.rstrip() for line in traceback.format_list(frames[-5:]))])


def attribute(owner: Any, names: Sequence[str], name: str) -> Any:
    """Follow dotted attributes, or name the first that is missing."""
    for part in names:
        if not hasattr(owner, part):
            raise UsageError(f"{getattr(owner, '__name__', owner)!s} has no attribute {part!r} (asked for by {name!r})")
        owner = getattr(owner, part)
    return owner


def functions_in(module: ModuleType, pattern: str | None = None) -> Iterator[type]:
    """The autograd.Functions that a module defines itself, in source order, each once, without bases of others."""
    from torch.autograd import Function

    first_names = {id(value): name for name, value in reversed(vars(module).items())}
    for name, value in vars(module).items():
        own = isinstance(value, type) and issubclass(value, Function) and value.__module__ == module.__name__
        own = own and first_names[id(value)] == name
        if own and not is_base(value) and (pattern is None or fnmatch.fnmatch(name, pattern)):
            yield value


def is_base(function: type) -> bool:
    """Whether a class is only there for others to derive from: it lacks a forward, or methods that it calls on cls."""
    from torch.autograd import Function

    if not function.__subclasses__():
        return False
    text = "".join(method.text for name in METHODS if (method := read_method(function, name)))
    forwards = {inspect.getattr_static(owner, "forward") for owner in (Function, function)}
    return len(forwards) == 1 or any(not hasattr(function, name) for name in re.findall(r"\bcls\.(\w+)", text))


def is_function_class(candidate: Any) -> bool:
    """Whether this is a class derived from autograd.Function."""
    from torch.autograd import Function

    return isinstance(candidate, type) and issubclass(candidate, Function) and candidate is not Function
