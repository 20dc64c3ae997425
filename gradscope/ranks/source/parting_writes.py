"""The line by which a rank puts into a buffer what it has by itself, where other lines put in what ranks exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.source.buffer_writes import written_on
from gradscope.ranks.source.given import Frame, bound_in, frames_of, stands_in
from gradscope.ranks.source.syntax import at_line
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_SENT = ("allreduce", "all_reduce", "allgather", "all_gather", "broadcast")  # what all ranks have then
_PLACES = frozenset(("index_put_", "_index_put_impl_", "index_copy_", "masked_scatter_", "scatter_"))  # values last

_Line = tuple[str, int]


@dataclass(slots=True)
class BufferWrites:
    """The lines of a program that write a buffer in place, by the name that they call it."""

    recording: Recording
    buffer: str
    known: dict[tuple[_Line, str | None], bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As its module calls it."""
        return unwrapped(self.buffer).rpartition(".")[2]

    def writes(self, one: Operation) -> bool:
        """Whether an operator's line writes it, in its module or in none."""
        site, module = one.site, one.module
        if not one.writes or site is None:
            return False
        key = _line(site), None if module is None else unwrapped(module.path or "")
        if key not in self.known:
            inside = key[1] is None or key[1] == unwrapped(self.buffer).rpartition(".")[0]
            self.known[key] = inside and self.name in (site.source or "") and bool(self.given(site))
        return self.known[key]

    def given(self, site: Site) -> list[ast.expr]:
        """What a line puts into it."""
        return [value for name, values in written_on(self.recording, site) if name == self.name for value in values]

    def from_exchanged(self) -> set[_Line]:
        """The lines that write it from what was computed of what ranks had exchanged, but for parameters."""
        tensors = self.recording.flow_tensors()
        learned = {one.storage for one in tensors if one.parameter}  # a wrapper sends these, by views that are none
        storages = {one.number: one.storage for one in tensors if one.storage not in learned}
        exchanged: set[int] = set()  # storages
        found: set[_Line] = set()
        for one in self.recording.flow():
            if one.backward is not None:
                continue
            read = {storages[each.tensor] for each in one.reads if each.tensor in storages}
            made = {storages[each] for each in one.makes if each in storages}
            if is_collective(one.operation.name):
                exchanged |= made if any(each in one.operation.name for each in _SENT) else set()
            elif not exchanged.isdisjoint(read):
                if one.site is not None and self.writes(one.operation) and exchanged & _given(one, storages) - made:
                    found.add(_line(one.site))
                exchanged |= made
        return found

    def between(self, looks: tuple[int, int]) -> tuple[list[Stack], set[_Line]]:
        """The stacks by which it is written between two looks, and the lines that wrote it before."""
        begun = {one.number: one.started for one in self.recording.backwards()}
        found: list[Stack] = []
        earlier: set[_Line] = set()
        for block in self.recording.blocks():
            if block.started > begun.get(looks[1], 0.0):
                break
            written = [one for one in block.operations if block.backward is None and self.writes(one)]
            if block.started <= begun.get(looks[0], 0.0):
                earlier.update(_line(one.site) for one in written if one.site is not None)
            else:
                found += [one.stack for one in written]
        return found, earlier


def _given(one: FlowOperation, storages: dict[int, int]) -> set[int]:
    """The memory of what an operator puts in: where it puts it says nothing of whose that is."""
    values = one.reads[-1:] if base_name(one.operation.name) in _PLACES else one.reads
    return {storages[each.tensor] for each in values if each.tensor in storages}


def parted_at(recording: Recording, buffer: str, looks: tuple[int, int]) -> Site | None:
    """Of a buffer that is written from what ranks exchanged, the last line that puts in what a rank has by itself
    between two looks, and did not before; that which gives another name to what is put in, where one does. None where
    there is no such."""
    writes = BufferWrites(recording, buffer)
    exchanged = writes.from_exchanged()
    if not exchanged:
        return None
    stacks, earlier = writes.between(looks)
    exchanging = _exchanging(recording)
    found: Site | None = None
    for stack in dict.fromkeys(stacks):
        frames = frames_of(recording, stack)
        if frames and _line(frames[0].site) not in earlier | exchanged | exchanging:
            named = _named(frames[0], writes.given(frames[0].site), exchanging)
            found = found if named is None else at_line(recording, frames[0].site, named)
    return found


def _named(frame: Frame, given: list[ast.expr], exchanging: set[_Line]) -> int | None:
    """The line that gives another name to a variable which is put in, else that which puts it in; None where nothing
    of the function's is put in, or something that it has sent to others."""
    names = [name for name in _names(frame, given) if name != "self"]
    if not names or any(_is_sent(frame, name, exchanging) for name in names):
        return None
    return next(filter(None, (_renamed(frame, value) for value in given)), frame.site.line)


def _renamed(frame: Frame, value: ast.expr) -> int | None:
    """The line of a function that gives another name to the variable which a value is a part of, or made of."""
    line, seen = frame.site.line, set[int]()
    while line not in seen:
        seen.add(line)
        while isinstance(value, (ast.Subscript, ast.Attribute, ast.Call)):
            value = value.func if isinstance(value, ast.Call) else value.value
        bound = bound_in(frame, value.id, line) if isinstance(value, ast.Name) else None
        if bound is None or not stands_in(frame, bound[0]):
            return None
        line, value = bound
        if isinstance(value, ast.Name):
            return line
    return None


def _names(frame: Frame, given: list[ast.expr]) -> list[str]:
    """The variables of a function that some values come from, those in the values first."""
    waiting = list(given)
    found: dict[str, None] = {}
    for value in waiting:  # grows while it is walked
        for node in ast.walk(value):
            if isinstance(node, ast.Name) and node.id not in found and not _is_global(frame, node.id):
                found[node.id] = None
                bound = bound_in(frame, node.id, frame.site.line)
                waiting += [] if bound is None else [bound[1]]
    return list(found)


def _is_global(frame: Frame, name: str) -> bool:
    """Whether nothing in a function binds a name, and it is none of its parameters."""
    arguments = (node.arg for node in ast.walk(frame.function) if isinstance(node, ast.arg))
    stored = (
        node.id for node in ast.walk(frame.function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return name not in {*arguments, *stored}


def _is_sent(frame: Frame, name: str, exchanging: set[_Line]) -> bool:
    """Whether a line of the function that exchanges something binds a variable, or gives it to a function for that."""
    for node in ast.walk(frame.function):
        if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            exchanges = any((frame.site.file, line) in exchanging for line in lines)
            if exchanges and any(isinstance(each, ast.Name) and each.id == name for each in _touched(node)):
                return True
    return False


def _touched(statement: ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[ast.AST]:
    """What a statement binds, or gives to a function; a method of something else, as a module's, writes none of it."""
    if isinstance(statement, ast.Assign):
        yield from (node for target in statement.targets for node in ast.walk(target))
    elif not isinstance(statement, ast.Expr):
        yield from ast.walk(statement.target)
    elif isinstance(statement.value, ast.Call):
        called = statement.value.func
        if isinstance(called, ast.Name) or (isinstance(called, ast.Attribute) and called.attr.startswith(_SENT)):
            yield from ast.walk(statement.value)


def _exchanging(recording: Recording) -> set[_Line]:
    """The program's lines by which ranks come to exchange something outside of a backward."""
    stacks = {
        id(one.stack): one.stack
        for block in recording.blocks()
        if block.backward is None
        for one in block.operations
        if is_collective(one.name)
    }
    return {_line(site) for stack in stacks.values() for site in user_frames(stack)}


def _line(site: Site) -> _Line:
    return site.file, site.line
