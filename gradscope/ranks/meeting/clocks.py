"""The line by which each rank makes a name of its own, of a clock or a random number, for what one rank alone fills."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.functions.source import called_name
from gradscope.model.rank import Rank
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.meeting.removed import MISSING
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.meetings import functions_that_meet, without_meetings
from gradscope.store.reader import Recording

_CLOCKS = frozenset(("now", "utcnow", "time", "time_ns", "strftime"))
_OWN = frozenset(("getpid", "uuid1", "uuid4", "mkdtemp", "token_hex"))  # no two processes have these alike
_FORMAT = re.compile("%-?[a-zA-Z]")
_SECONDS = re.compile("%[SfsTcX]")
_COARSE = frozenset(("date", "year", "month", "day", "hour", "minute", "isocalendar", "toordinal"))
_KEEPS = frozenset(  # calls of others that give each rank what it gives them
    (
        *("str", "int", "float", "hex", "round", "repr", "Path", "PurePath", "join", "joinpath", "format", "replace"),
        *("isoformat", "timestamp", "fromtimestamp", "localtime", "gmtime", "zfill", "strip", "lower", "abspath"),
        *("resolve", "expanduser", "realpath", "with_suffix", "with_name", "dirname", "parse_args", "cwd", "getcwd"),
        "field",
    )
)


@dataclass(slots=True)
class _Seen:
    """What a value goes back to: the expressions, and the functions that they stand in, with their callers."""

    recording: Recording
    values: list[ast.expr] = field(default_factory=list)
    frames: list[list[Frame]] = field(default_factory=list)

    def add(self, frames: list[Frame], value: ast.expr) -> ast.expr:
        """A value without what other ranks have a part in."""
        shown = without_meetings(self.recording, frames[0], value)
        self.values.append(shown)
        self.frames.append(frames)
        return shown

    def origin(self, frames: list[Frame], value: ast.expr) -> Site | None:
        """The line by which a value is a rank's own, where it may not be the same on all of them even so."""
        site = origin(self.recording, frames, value, _is_its_own, self.add)
        keep = _KEEPS | _CLOCKS | _OWN | functions_that_meet(self.recording).keys()  # of these none that meets is left
        calls = (node for value in self.values for node in ast.walk(value) if isinstance(node, ast.Call))
        known = all(called_name(one) in keep for one in calls)
        return site if known and not any(map(_is_coarse, self.values)) else None


def named_by_each(ranks: Ranks, one: Rank, recording: Recording) -> Told | None:
    """Where the name of what a rank did not find was made, of a clock's seconds or a number of its own, and which one
    rank alone fills; None where others have a part in it, or did not find it either."""
    failures = recording.failures() if MISSING.search(one.exception or "") else []
    frames = frames_of(recording, failures[-1].stack) if failures else []
    if not frames or len(ranks.ranks) < 2 or all(MISSING.search(each.exception or "") for each in ranks.ranks):
        return None
    for value in _read(frames[0]):
        seen = _Seen(recording)
        site = seen.origin(frames, value)
        if site is not None and any(_fills(recording, around, site, frames) for around in seen.frames):
            return "whose name each rank makes by itself", site
    return None


def _read(frame: Frame) -> Iterator[ast.expr]:
    """What the calls on a line are given first, or are methods of."""
    line = frame.site.line
    for node in ast.walk(frame.function):
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or 0):
            yield from node.args[:1]
            if isinstance(node.func, ast.Attribute):
                yield node.func.value


def _is_its_own(value: ast.expr) -> bool:
    """Whether a value is made of a clock, or of what no two processes have alike; a condition is none."""
    if isinstance(value, ast.Compare | ast.BoolOp):
        return False
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    return any(called_name(one) in _OWN or (called_name(one) in _CLOCKS and _is_now(one)) for one in calls)


def _is_now(call: ast.Call) -> bool:
    """Whether a call asks a clock: strftime of the module, which is given a format alone, as well."""
    if called_name(call) != "strftime":
        return True
    of_module = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "time"
    return of_module and len(call.args) == 1


def _is_coarse(value: ast.expr) -> bool:
    """Whether a value may be the same on all ranks, though they ask at different times: a date, say."""
    for node in ast.walk(value):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if _FORMAT.search(text) and not _SECONDS.search(text):
            return True
        if isinstance(node, ast.Attribute) and node.attr in _COARSE:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            return True
    return False


def _fills(recording: Recording, frames: list[Frame], made: Site, readers: list[Frame]) -> bool:
    """Whether a call of a function, under a condition that asks for the rank and has no reader in it, is given
    what a line made."""
    reads = [one.site.line for one in readers if one.site.file == frames[0].site.file]
    for node in ast.walk(frames[0].function):
        if not isinstance(node, ast.If) or not asks_for_rank(node.test):
            continue
        inside = (one for statement in node.body for one in ast.walk(statement))
        given = (arg for call in inside if isinstance(call, ast.Call) for arg in _given(call))
        names = (one for arg in given for one in ast.walk(arg) if isinstance(one, ast.Name | ast.Attribute))
        sites = (_Seen(recording).origin(frames, name) for name in names)
        filled = any(site is not None and (site.file, site.line) == (made.file, made.line) for site in sites)
        if filled and not any(node.lineno <= line <= (node.end_lineno or 0) for line in reads):
            return True
    return False


def _given(call: ast.Call) -> list[ast.expr]:
    """What a call is given, and what it is a method of."""
    return [*call.args, *(one.value for one in call.keywords), call.func]
