"""Which modules of a package or folder define Functions, by their syntax: importing all of a large one takes long."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gradscope.functions.source import last_name, parsed

TORCHS = frozenset(("Function", "InplaceFunction", "NestedIOFunction"))
RUNNABLE = "__main__"  # running it is what it is for
MARK = "__init__.py"  # what makes a folder a package
BUILT = frozenset(("build", "dist", "node_modules"))  # where copies lie, unless it is a package


@dataclass(frozen=True, slots=True)
class FoundModule:
    """A module that defines classes which look like Functions, in their order."""

    name: str
    classes: tuple[str, ...]
    root: str = ""  # the folder that its name counts from, where it was found by a path


def holds_modules(name: str) -> bool:
    """Whether a dotted name is a package, or a path a folder. Nothing but a package's parents is imported."""
    return bool(folders_of(name)) or Path(name).is_dir()


def root_and_name(path: Path) -> tuple[Path, str]:
    """The folder to import a Python file from, and its dotted name there: those of the outermost package around it."""
    path = path.resolve()
    root, parts = path.parent, [] if path.name == MARK else [path.stem]
    while (root / MARK).is_file():
        root, parts = root.parent, [root.name, *parts]
    return root, ".".join(parts)


def folders_of(name: str) -> list[Path]:
    """The folders of a package."""
    try:
        spec = importlib.util.find_spec(name) if all(part.isidentifier() for part in name.split(".")) else None
    except (Exception, SystemExit):  # of a parent that is imported: who imports the name itself will say it
        return []
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []


def modules_with_functions(name: str) -> list[FoundModule]:
    """The modules of a package or folder in which a class derives from a Function, or from a class there that does."""
    if folders_of(name):
        return defining(dict(texts_in(name)))
    by_root: dict[Path, dict[str, str]] = {}
    for root, module, text in texts_under(Path(name)):
        by_root.setdefault(root, {})[module] = text
    return [replace(module, root=str(root)) for root, texts in by_root.items() for module in defining(texts)]


def defining(texts: dict[str, str]) -> list[FoundModule]:
    """Of modules with their texts those that define Functions."""
    classes: dict[str, list[tuple[str, set[str]]]] = {}
    known, fresh = set(TORCHS), set(TORCHS)
    while fresh:
        derives = re.compile(rf"\bclass\s+\w+\s*\([^:]*\b({'|'.join(fresh)})\b")
        for name, text in texts.items():
            if name not in classes and derives.search(text):  # parsing all of a large package takes long
                classes[name] = list(classes_in(text))
        fresh = {name for defined in classes.values() for name, bases in defined if known & bases} - known
        known |= fresh
    found = [FoundModule(name, tuple(c for c, bases in classes.get(name, ()) if bases & known)) for name in texts]
    return [module for module in found if module.classes]


def texts_in(package: str) -> Iterator[tuple[str, str]]:
    """The modules of a package by name, with their text."""
    for folder in folders_of(package):
        for path in sorted(folder.rglob("*.py")):
            parts = [*package.split("."), *path.relative_to(folder).with_suffix("").parts]
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if parts[-1] == RUNNABLE or not all(part.isidentifier() for part in parts):
                continue
            try:
                yield ".".join(parts), path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue


def texts_under(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """The modules under a folder: from where to import, name and text; what is hidden, installed or built left out."""
    for place, folders, files in os.walk(folder):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = [
            inner
            for inner in sorted(folders)
            if not inner.startswith(".") and (inner not in BUILT or Path(place, inner, MARK).is_file())
        ]
        for file in sorted(file for file in files if file.endswith(".py")):
            root, name = root_and_name(Path(place, file))
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if Path(file).stem != RUNNABLE and all(part.isidentifier() for part in name.split(".")):
                    yield root, name, Path(place, file).read_text(encoding="utf-8")


def classes_in(text: str) -> Iterator[tuple[str, set[str]]]:
    """The classes that a module defines at its outermost level, each with the last names of its bases."""
    tree = parsed(text)
    waiting: list[ast.stmt] = [] if tree is None else list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.ClassDef):
            yield node.name, {last_name(base) for base in node.bases}
        elif isinstance(node, ast.If | ast.Try):
            waiting = [*inner_statements(node), *waiting]


def inner_statements(node: ast.If | ast.Try) -> list[ast.stmt]:
    """What stands directly in a compound statement."""
    handled = [one for handler in getattr(node, "handlers", ()) for one in handler.body]
    return [*node.body, *handled, *node.orelse]
