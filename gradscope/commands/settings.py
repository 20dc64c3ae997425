"""Defaults for options, from `[tool.gradscope]` in pyproject.toml and from GRADSCOPE_* in the environment.

Options are named as on the command line. A setting holds for every command that has the option, or for one command:
`detail = "nodes"`, `[tool.gradscope.trace]`, GRADSCOPE_DETAIL, GRADSCOPE_TRACE_DETAIL. The command line beats the
environment, which beats the file; what is said for one command beats what is said for all.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from gradscope.errors import UsageError
from gradscope.model.printable import printable
from gradscope.store.file import show

PREFIX = "GRADSCOPE_"
FILE = "pyproject.toml"
FUNCTIONS = "functions"  # what is declared of single Functions
SECTION = "tool.gradscope"
# A project's file must not make a command write where its user did not say.
_NEVER = frozenset({"output", "force", "help"})


def defaults(
    name: str, command: click.Command, others: Callable[[], Mapping[str, click.Command]] | None = None
) -> dict[str, Any]:
    """The defaults of a command's options, by click's names of them. Raises UsageError.

    `others` loads all commands, to tell a setting of another one from a mistake; without it nothing is a mistake.
    """
    known = options_of(command)
    found = _from_file(name, known, others)
    found.update(_from_environment(name, known, os.environ))
    several = {option.name for option in command.params if isinstance(option, click.Option) and option.multiple}
    return {name: value.split(",") if name in several else value for name, value in found.items()}


def options_of(command: click.Command) -> dict[str, str]:
    """The options that can be set: their long names on the command line -> click's names."""
    long = {
        spelling.removeprefix("--"): str(option.name)
        for option in command.params
        if isinstance(option, click.Option)
        for spelling in option.opts
        if spelling.startswith("--")
    }
    return {spelling: option for spelling, option in long.items() if spelling not in _NEVER}


def _from_environment(name: str, known: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for prefix in (PREFIX, PREFIX + _variable(name) + "_"):
        for spelling, option in known.items():
            value = environment.get(prefix + _variable(spelling))
            if value:  # set to nothing is not set
                found[option] = value
    return found


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")


def _from_file(
    name: str, known: Mapping[str, str], others: Callable[[], Mapping[str, click.Command]] | None
) -> dict[str, Any]:
    path, section = _section(Path.cwd())
    found: dict[str, Any] = {}
    strangers: list[str] = []
    own = section.get(name, {})
    for key, value in [
        *section.items(),
        *(own.items() if isinstance(own, dict) else ()),
    ]:  # its own come later: they win
        spelling = key.replace("_", "-")
        if spelling in known and not isinstance(value, dict):
            found[known[spelling]] = _plain(path, key, value)
        elif key != name:
            strangers.append(key)
    if strangers and others is not None:
        _check_known(path, section, others())
    return found


def _section(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The nearest section, here or above."""
    for path in (directory / FILE for directory in (folder, *folder.parents)):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if SECTION not in text:  # the usual case costs no parser
            continue
        section = _parse(path, text).get("tool", {}).get("gradscope")
        if isinstance(section, dict):
            return path, section
    return Path(FILE), {}


def _parse(path: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{show(path)} is not TOML: {printable(str(error))}") from None
    raise UsageError(f"[{SECTION}] in {show(path)} needs Python 3.11", f"set {PREFIX}* in the environment instead")


def _check_known(path: Path, section: dict[str, Any], commands: Mapping[str, click.Command]) -> None:
    """Every setting is an option of some command; one for a single command is an option of that command."""
    options = {name: set(options_of(command)) for name, command in commands.items()}
    anywhere = set().union(*options.values())
    for key, value in section.items():
        if key == FUNCTIONS:
            continue  # check-function reads it itself
        if not isinstance(value, dict):
            _check_name(path, key.replace("_", "-"), anywhere)
            continue
        _check_name(path, key, set(options))
        for inner in value:
            _check_name(path, inner.replace("_", "-"), options[key])


def _check_name(path: Path, name: str, known: set[str]) -> None:
    if name in known:
        return
    likely = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {likely[0]}?" if likely else "settings are named as the options are, without the dashes"
    raise UsageError(f"there is no {printable(name)} that [{SECTION}] in {show(path)} could set", hint)


def _plain(path: Path, key: str, value: Any) -> Any:
    """A value as click takes it; a list is what commas separate on the command line."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    if isinstance(value, (str, int, float)):
        return value if isinstance(value, bool) else str(value)
    raise UsageError(f"{printable(key)} in [{SECTION}] of {show(path)} is neither a text, a number, a list nor true")
