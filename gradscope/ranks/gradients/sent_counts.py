"""A check whether a batch has anything to learn from, of which one rank's answer is sent to all: another rank, which
has nothing, goes on to divide nothing by nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, names_in
from gradscope.model.birth import Birth
from gradscope.model.operation import Operation, base_name
from gradscope.model.rank import Rank
from gradscope.model.site import user_frames
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.reduced import divisors
from gradscope.ranks.gradients.sent_checks import (
    OPERATORS,
    SentCheck,
    handed,
    is_at,
    is_needed,
    root_of,
    what_is_sent,
)
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame, bound_in, frames_of
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording

_COUNTS = frozenset(("any", "all", "sum", "count_nonzero", "nonzero", "numel", "max", "amax", "len"))
_Named = tuple[Frame, set[str]]


def sent_count(ranks: Ranks, one: Rank, recording: Recording, backward: int) -> SentCheck | None:
    """The last such check on the way of a rank to a backward whose loss is not finite, of what its first such value was
    divided by, or is the mean of; None where the rank's own answer is what is sent."""
    births = [each for each in recording.births() if each.step == backward and each.backward is None]
    birth = min(births, key=lambda each: each.number, default=None)
    if birth is None or not _is_of_nothing(birth):
        return None
    counted = list(_counted(recording, birth))
    way = ways_of(recording).get(backward, [])
    for at, operation in reversed(list(enumerate(way))):
        root = root_of(ranks, operation) if operation.name.startswith(OPERATORS) else None
        if root not in (None, one.rank) and _is_asked(_asked(recording, operation, way[:at]), counted):
            return None if operation.site is None or root is None else SentCheck(operation.site, root)
    return None


def _is_of_nothing(birth: Birth) -> bool:
    """Whether an operator divided zero by zero, or took the mean of no numbers."""
    given = [one for one in birth.given if one.shape is not None]
    if birth.base == "mean":  # of no numbers there is none that could be told
        return birth.device is None and birth.nan > 0 and not birth.came_in and not given
    return birth.base == "div" and len(given) > 1 and all(one.value == 0 for one in given[:2])


def _counted(recording: Recording, birth: Birth) -> Iterator[_Named]:
    """The names of what such an operator divides by, or takes the mean of, in each function that hands it on."""
    frames = frames_of(recording, birth.stack)
    if not frames:
        return
    line = frames[0].site.line
    nodes = [node for node in ast.walk(frames[0].function) if getattr(node, "lineno", 0) == line]
    values = [one for node in nodes for one in divisors(node)]
    if birth.base == "mean":
        values = [node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr == "mean"]
    yield from handed(frames, [*values, *(one for value in values for one in _counts_behind(frames[0], value))])


def _counts_behind(frame: Frame, value: ast.expr) -> Iterator[ast.expr]:
    """What names in a value were counted from, in the same function."""
    for name in names_in(value):
        bound = bound_in(frame, name, frame.site.line)
        if bound is not None:
            yield from _of_counts(bound[1])


def _of_counts(value: ast.expr) -> list[ast.expr]:
    """What is counted in a value, or asked whether there is any."""
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call) and called_name(node) in _COUNTS]
    return [*(one for call in calls for one in call.args), *(_owner(call) for call in calls if not call.args)]


def _owner(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _asked(recording: Recording, operation: Operation, before: list[Operation]) -> Iterator[_Named]:
    """What comes of a count, and is sent by a line, by its names where something is decided by it."""
    frames = frames_of(recording, operation.stack)
    sent = what_is_sent(frames[0]) if frames else None
    if sent is None or not is_needed(frames[0], sent):
        return
    passed: list[tuple[list[Frame], ast.expr]] = []

    def noted(around: list[Frame], value: ast.expr) -> ast.expr:
        passed.append((around, value))
        return value

    if origin(recording, frames, sent, lambda value: bool(_of_counts(value)), noted) is not None:
        around, value = passed[-1]
        yield from handed(around, _of_counts(value))
        return
    for at, frame in enumerate(frames[1:], 1):
        tests = [node.test for node in ast.walk(frame.function) if isinstance(node, ast.If | ast.While)]
        calls = [call for test in tests if is_at(test, frame.site.line) for call in _calls(test)]
        if calls and _counts_in(operation, before, len(frames) - at):
            yield frame, {name for call in calls for one in call.args for name in names_in(one)}


def _calls(value: ast.expr) -> list[ast.Call]:
    return [node for node in ast.walk(value) if isinstance(node, ast.Call)]


def _counts_in(operation: Operation, before: list[Operation], outer: int) -> bool:
    """Whether something was counted in a call that sends, which begins after so many of the outer lines."""
    around = list(user_frames(operation.stack))[-outer:]
    counts = (one for one in before if base_name(one.name) in _COUNTS)
    return any(list(user_frames(one.stack))[-outer:] == around for one in counts)


def _is_asked(asked: Iterator[_Named], counted: list[_Named]) -> bool:
    """Whether what is asked is counted below, in one function."""
    return any(
        one.site.is_in_function_of(other.site) and other.site.line > one.site.line and names & theirs
        for one, names in asked
        for other, theirs in counted
    )
