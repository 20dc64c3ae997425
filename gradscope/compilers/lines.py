"""The stacks that Dynamo keeps as text, as the model's stacks; whose code a file is, the caller says."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable
from typing import Any

from gradscope.model.site import Origin, Site, Stack

Whose = Callable[[str], Origin]
_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)
_RESUMED = re.compile(r"^torch_dynamo_resume_in_(?P<name>.+)_at_(?P<line>\d+)(_\d+)?$")


def stack_of(text: str | None, whose: Whose) -> Stack:
    """A stack printed as Python prints it, innermost frame first."""
    found = _FRAME.finditer(text or "")
    return tuple(site(one["file"], int(one["line"]), one["function"], whose) for one in found)[::-1]


def stack_of_frames(frames: Iterable[Any], whose: Whose) -> Stack:
    """A stack of FrameSummary, outermost first as Python has them, innermost first."""
    return tuple(site(one.filename, one.lineno or 0, one.name, whose) for one in frames)[::-1]


def site(file: str, line: int, function: str, whose: Whose) -> Site:
    """One line of code, under the name of the function as the user wrote it."""
    resumed = _RESUMED.match(function)
    text = linecache.getline(file, line).strip() or None
    return Site(file, line, resumed["name"] if resumed else function, text, whose(file))


def region_name(function: str) -> str:
    """The name of what Dynamo compiled: a function's, or the rest of one behind a graph break."""
    resumed = _RESUMED.match(function)
    return f"{resumed['name']}, from line {resumed['line']} on" if resumed else function
