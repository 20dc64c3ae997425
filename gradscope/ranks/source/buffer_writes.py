"""Where a program's own lines write a buffer, and what of one rank they put into it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.source.given import bound_in, frames_of, stands_in
from gradscope.ranks.source.sampled_lines import Line, sampled_lines
from gradscope.ranks.source.syntax import at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_CALLS = 64  # backward calls: what follows is the same again
_EMPTIES = frozenset(("zero_", "fill_"))
_WRITES = (ast.Call, ast.Assign, ast.AugAssign)


@dataclass(frozen=True, slots=True)
class _Write:
    """A line that writes a buffer, with what it is given; `inside`: in the buffer's own module."""

    site: Site
    operation: Operation
    buffer: str
    given: list[ast.expr]
    inside: bool


def written_with(recording: Recording, buffers: Iterable[str], *, anywhere: bool = False) -> Site | None:
    """The line that computes over samples what is first written into one of some buffers, or else makes it, where that
    is a variable of the function; else the line that writes one first. None where no line of the program names one that
    it writes. `anywhere`: outside of all modules as well. One that only counts, until something is made of it for
    another one, is left out: by then it is to be summed."""
    names = {tuple(unwrapped(one).rpartition(".")[::2]) for one in buffers}
    writes = list(_writes(recording, names))
    counted = set(_counters(recording, writes))
    kept = [one for one in writes if (one.inside or anywhere) and one.buffer not in counted]
    sampled = sampled_lines(recording) if kept else set()
    made = (_sampled(recording, one, sampled) or _made(recording, one.operation, one.given) for one in kept)
    return next(filter(None, made), kept[0].site if kept else None)


def _writes(recording: Recording, names: set[tuple[str, ...]]) -> Iterator[_Write]:
    """The lines that write some buffers, each once in a module."""
    for site, one in _writing(recording):
        named = any(name in (site.source or "") for _, name in names)
        for name, given in written_on(recording, site) if named else ():
            inside = (_owner(one), name) in names
            if inside or (one.module is None and any(name == each for _, each in names)):
                yield _Write(site, one, name, given, inside)


def _counters(recording: Recording, writes: list[_Write]) -> Iterator[str]:
    """The buffers that a function empties when it has made of them what goes into another one."""
    for one in writes:
        values = [*one.given, *(value for _, value in _chain(recording, one))]
        read = {node.attr for value in values for node in ast.walk(value) if isinstance(node, ast.Attribute)}
        for other in writes:
            empties = base_name(other.operation.name) in _EMPTIES and other.site.is_in_function_of(one.site)
            if empties and other.buffer in read - {one.buffer}:
                yield other.buffer


def _chain(recording: Recording, one: _Write) -> Iterator[tuple[int, ast.expr]]:
    """The variables of a function that go into what a line writes, those in the line first: where each was bound."""
    frames = frames_of(recording, one.operation.stack)[:1]
    waiting = [(frame.site.line, value) for frame in frames for value in one.given]
    seen: set[tuple[str, int]] = set()
    for line, value in waiting:  # grows while it is walked
        for node in ast.walk(value):
            name = node.id if isinstance(node, ast.Name) else None
            bound = None if name is None or (name, line) in seen else bound_in(frames[0], name, line)
            if name is not None and bound is not None and stands_in(frames[0], bound[0]):
                waiting.append(bound)
                yield bound
            seen.add((name or "", line))


def _sampled(recording: Recording, one: _Write, sampled: set[Line]) -> Site | None:
    """The nearest of these lines that computes over samples."""
    if (one.site.file, one.site.line) in sampled:
        return None
    lines = (line for line, _ in _chain(recording, one) if (one.site.file, line) in sampled)
    line = next(lines, None)
    return None if line is None else at_line(recording, one.site, line)


def _writing(recording: Recording) -> Iterator[tuple[Site, Operation]]:
    """The lines that write in place on the way to the first backward calls, each once in a module."""
    seen: set[tuple[Site, str]] = set()
    begun = sorted(call.started for call in recording.backwards())[:_CALLS]
    for block in recording.blocks():
        if begun and block.started > begun[-1]:
            return
        for one in block.operations if block.backward is None else ():
            site = one.site
            if one.writes and site is not None and (site, _owner(one)) not in seen:
                seen.add((site, _owner(one)))
                yield site, one


def _owner(one: Operation) -> str:
    """The module that an operator ran in, as names of buffers have it."""
    return "" if one.module is None else unwrapped(one.module.path or "")


def written_on(recording: Recording, site: Site) -> Iterator[tuple[str, list[ast.expr]]]:
    """The attributes that a line assigns to or writes in place, each with what it is given for that."""
    for node in nodes_of(tree_of(recording, site)):
        if not isinstance(node, _WRITES) or not node.lineno <= site.line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.Assign):
            yield from ((name, [node.value]) for target in node.targets for name in _attributes(target))
        elif isinstance(node, ast.AugAssign):
            yield from ((name, [node.value]) for name in _attributes(node.target))
        elif isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            given = [*node.args, *(one.value for one in node.keywords)]
            yield from ((name, given) for name in _attributes(node.func.value))


def _attributes(value: ast.AST) -> Iterator[str]:
    """`size` of `self.size[2:].data`, and of what is called on it in place."""
    while isinstance(value, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(value, ast.Attribute):
            yield value.attr
        value = value.func if isinstance(value, ast.Call) else value.value


def _made(recording: Recording, one: Operation, given: list[ast.expr]) -> Site | None:
    """The line that computes the first variable of its function that an operator's line puts in."""
    frames = frames_of(recording, one.stack)
    names = [node.id for value in given for node in ast.walk(value) if isinstance(node, ast.Name)]
    for name in names if frames else ():
        bound = bound_in(frames[0], name, frames[0].site.line)
        if bound is not None and any(isinstance(node, ast.Call) for node in ast.walk(bound[1])):
            return at_line(recording, frames[0].site, bound[0])
    return None
