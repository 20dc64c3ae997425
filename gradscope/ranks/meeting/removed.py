"""The line by which one rank removes a file that another one has yet to read, by the names in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.functions.source import called_name, is_attribute_of, last_name
from gradscope.model.rank import Rank, State
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.meeting.leaving import waits_under
from gradscope.ranks.source.given import Frame, bound_in, frames_of, passed_to
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording, load

MISSING = re.compile("FileNotFoundError|No such file or directory")
_REMOVES = frozenset(("os.remove", "os.unlink"))
_REMOVES_ALL = "shutil.rmtree"  # what is in a folder as well
_OTHERS = 8  # ranks that are asked
_LONGEST = 8  # names in a row


@dataclass(frozen=True, slots=True)
class _Removal:
    """Where something is removed, the expressions that say what, and whether with all that is in it."""

    frame: Frame
    says: frozenset[str]
    all: bool


def removed_by_another(ranks: Ranks, one: Rank, recording: Recording) -> Told | None:
    """What a rank did not find that another one had removed, which has come past that line already; None where the
    names do not tell that it is the same."""
    failures = recording.failures()
    frames = frames_of(recording, failures[-1].stack) if failures and MISSING.search(one.exception or "") else []
    read = {inside: _read_on(frames, inside) for inside in (False, True)} if frames else {}
    removals = [each for each in _removals(recording) if each.says & read[each.all]] if read else []
    for other in [each for each in ranks.ranks if each.rank != one.rank][:_OTHERS] if removals else ():
        with load(Path(other.path)) as there:
            stack = waits_under(there)
        for removal in removals:
            if any(_is_past(frame, removal, other, stack) for frame in frames):
                site = removal.frame.site
                return f"after rank {other.rank} had removed it", at_line(recording, site, site.line)
    return None


def _read_on(frames: list[Frame], inside: bool) -> frozenset[str]:
    """The expressions that say what is read on the innermost line, or what it is inside of."""
    line = frames[0].site.line
    calls = [node for node in ast.walk(frames[0].function) if isinstance(node, ast.Call)]
    given = [one for call in calls if call.lineno <= line <= (call.end_lineno or 0) for one in call.args[:1]]
    return frozenset(said for one in given for said in _said(frames, one, inside))


def _said(frames: list[Frame], value: ast.expr, inside: bool) -> Iterator[str]:
    """A value as it is written, where it was bound and by the callers that are known; with the parts that it is joined
    from, if they are wanted."""
    at, line = 0, frames[0].site.line
    for _ in range(_LONGEST):
        parts = ast.walk(value) if inside else iter((value,))
        for part in parts:
            if isinstance(part, ast.Attribute | ast.Subscript | ast.Name) or part is value:
                yield f"{ast.unparse(part)}{_where(frames[at], part)}"
        bound = bound_in(frames[at], value.id, line) if isinstance(value, ast.Name) else None
        passed = passed_to(frames, at, value.id) if isinstance(value, ast.Name) and bound is None else None
        if bound is not None:
            line, value = bound
        elif passed is not None:
            at, value = at + 1, passed
            line = frames[at].site.line
        else:
            return


def _where(frame: Frame, value: ast.AST) -> str:
    """What a name belongs to: a variable's to its function, what `self` holds to its class."""
    if isinstance(value, ast.Name):
        return f" of {getattr(frame.function, 'name', '')}"
    classes = [node for node in nodes_of(frame.tree) if isinstance(node, ast.ClassDef) and frame.function in node.body]
    return f" of {classes[-1].name}" if classes and is_attribute_of(value, "self") else ""


def _removals(recording: Recording) -> Iterator[_Removal]:
    """The calls of a program that remove a file or a folder."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            target = _removed(node) if isinstance(node, ast.Call) else None
            around = function_around(tree, target.lineno) if target is not None else None
            if isinstance(node, ast.Call) and target is not None and around is not None:
                frame = Frame(Site(file, target.lineno, around.name), tree, around)
                says = frozenset(_said([frame, *_caller(recording, around.name)], target, inside=False))
                yield _Removal(frame, says, ast.unparse(node.func) == _REMOVES_ALL)


def _caller(recording: Recording, name: str) -> list[Frame]:
    """The one place that calls a function; nothing where there are several."""
    found = [
        Frame(Site(file, node.lineno, around.name), tree, around)
        for file in sorted(recording.sources())
        for tree in [tree_of(recording, Site(file, 1))]
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and called_name(node) == name
        for around in [function_around(tree, node.lineno)]
        if around is not None
    ]
    return found if len(found) == 1 else []


def _removed(call: ast.Call) -> ast.expr | None:
    """What a call removes, if it does."""
    if ast.unparse(call.func) in (*_REMOVES, _REMOVES_ALL):
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) and last_name(call.func) == "unlink" else None


def _is_past(frame: Frame, removal: _Removal, other: Rank, stack: Stack) -> bool:
    """Whether another rank has come past a removal that stands, or is called, below the line of a frame."""
    name, line = getattr(frame.function, "name", ""), frame.site.line
    place = removal.frame.site
    direct = (place.file, place.function) == (frame.site.file, name)
    called = [
        node.lineno
        for node in ast.walk(frame.function)
        if isinstance(node, ast.Call) and called_name(node) == place.function
    ]
    below = [one for one in ([place.line] if direct else called) if one > line]
    if not below:
        return False
    return other.state is State.DONE or _stands_beyond(stack, frame.site, min(below), None if direct else place)


def _stands_beyond(stack: Stack, frame: Site, line: int, place: Site | None) -> bool:
    """Whether a stack is in the function of a frame below a line, or at it and below a place in what that calls."""
    sites = user_frames(stack)
    there = next((site.line for site in sites if site.is_in_function_of(frame)), 0)
    if there != line or place is None:
        return there > line
    called = [site.line for site in sites if site.file == place.file and site.function.endswith(place.function)]
    return any(each > place.line for each in called)
