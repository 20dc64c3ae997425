"""Reads `[tool.gradscope.functions]`: a table for each Function, or for each pattern of names, in pyproject or a file.

The tables of one file that match a Function are laid over each other in their order: what a later one says wins.
"""

from __future__ import annotations

import difflib
import fnmatch
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from gradscope.errors import UsageError
from gradscope.model.declaration import Declaration

OWN_FILE = "gradscope.toml"
FILES = (OWN_FILE, "pyproject.toml")
SECTION = "tool.gradscope.functions"
LEVELS = ("declared", "eager", "func", "compile")
NAMES = tuple(field.name for field in fields(Declaration) if field.name != "pattern")


def declarations(path: Path | None = None) -> tuple[Declaration, ...]:
    """The declarations of a file, or of the nearest files that have any. Raises UsageError for what they cannot say."""
    if path is not None:
        if not path.is_file():
            raise UsageError(
                f"there is no file {path}", f"`gradscope check-function NAMES --init -o {path}` writes one"
            )
        return read_declarations(path)
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = [one for name in FILES if (folder / name).is_file() for one in read_declarations(folder / name)]
        if found:
            return tuple(found)
    return ()


def read_declarations(path: Path) -> tuple[Declaration, ...]:
    """The declarations of one file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if SECTION not in text:  # the usual case costs no parser
        return ()
    section = parsed(path, text).get("tool", {}).get("gradscope", {}).get("functions", {})
    return tuple(declaration(path, pattern, table) for pattern, table in section.items())


def parsed(path: Path, text: str) -> dict[str, Any]:
    """A file's TOML."""
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path} is not TOML: {error}") from None
    raise UsageError(f"[{SECTION}] in {path} needs Python 3.11")


def declaration(path: Path, pattern: str, table: Any) -> Declaration:
    """One table, each value checked."""
    if not isinstance(table, dict):
        raise UsageError(f"{pattern} in [{SECTION}] of {path} is no table", f'write [{SECTION}."pkg.mod.Name"]')
    said = {name.replace("-", "_"): value for name, value in table.items()}
    for name, value in said.items():
        problem = problem_with(name, value)
        if problem:
            raise UsageError(f'[{SECTION}."{pattern}"] in {path}: {problem}', hint_for(name))
    if "ignore" in said:
        said["ignore"] = tuple(said["ignore"].items())
    if "symmetric" in said:
        said["symmetric"] = tuple(said["symmetric"])
    return Declaration(pattern, **said)


def problem_with(name: str, value: Any) -> str:
    """What is wrong with a value, or nothing."""
    if name not in ACCEPTS:
        return f"there is no setting {name!r}"
    accepts, words = ACCEPTS[name]
    return "" if accepts(value) else f"{name} must be {words}"


def is_words(value: Any) -> bool:
    """Whether it is a text that says anything."""
    return isinstance(value, str) and bool(value.strip())


def is_flag(value: Any) -> bool:
    """Whether it is true or false."""
    return isinstance(value, bool)


def are_places(value: Any) -> bool:
    """Whether it is a list of places of arguments."""
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


def are_reasons(value: Any) -> bool:
    """Whether each code has a reason."""
    return isinstance(value, dict) and all(map(is_words, value.values()))


ACCEPTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "inputs": (is_words, "a text: a spec, or pkg.mod:factory"),
    "level": (lambda value: value in LEVELS, f"one of {', '.join(LEVELS)}"),
    "custom_gradient": (is_flag, "true or false"),
    "once_differentiable": (is_flag, "true or false"),
    "symmetric": (are_places, "a list of places of arguments, counted from 0"),
    "tolerance": (lambda value: isinstance(value, float) and 0 < value < 1, "a number between 0 and 1"),
    "ignore": (are_reasons, "a table that gives each code a reason"),
    "skip": (is_words, "a text: the reason"),
}


def hint_for(name: str) -> str:
    """How it is written."""
    if name == "ignore":
        return 'ignore = { GS205 = "never differentiated twice" }'
    likely = difflib.get_close_matches(name, NAMES, n=1)
    return f"did you mean {likely[0]}?" if likely and name not in NAMES else f"settings are {', '.join(NAMES)}"


def declared_for(name: str, found: Sequence[Declaration]) -> Declaration:
    """All that is declared for one Function, by its dotted name."""
    merged = Declaration(name)
    for one in found:
        if fnmatch.fnmatchcase(name, one.pattern):
            said = {field: getattr(one, field) for field in NAMES if getattr(one, field) not in (None, "", ())}
            said["ignore"] = (*merged.ignore, *one.ignore)
            merged = replace(merged, **said)
    return merged
