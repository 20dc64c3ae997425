"""Which modules of a package define Functions, by their syntax: importing all of a large one takes long."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.functions.source import last_name

TORCHS = frozenset(("Function", "InplaceFunction", "NestedIOFunction"))
RUNNABLE = "__main__"  # running it is what it is for


@dataclass(frozen=True, slots=True)
class FoundModule:
    """A module that defines classes which look like Functions, in their order."""

    name: str
    classes: tuple[str, ...]


def is_package(name: str) -> bool:
    """Whether a dotted name is a package: a module that others are in. Nothing but its parents is imported."""
    return bool(folders_of(name))


def folders_of(name: str) -> list[Path]:
    """The folders of a package."""
    try:
        spec = importlib.util.find_spec(name) if all(part.isidentifier() for part in name.split(".")) else None
    except (Exception, SystemExit):  # of a parent that is imported: who imports the name itself will say it
        return []
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []


def modules_with_functions(package: str) -> list[FoundModule]:
    """The modules of a package in which a class derives from a Function, or from a class of the package that does."""
    texts = dict(texts_in(package))
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


def classes_in(text: str) -> Iterator[tuple[str, set[str]]]:
    """The classes that a module defines at its outermost level, each with the last names of its bases."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    waiting: list[ast.stmt] = list(tree.body)
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
