"""Where a program's own lines write a buffer, and what of one rank they put into it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.model.operation import Operation
from gradscope.model.site import Site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.source.given import bound_in, frames_of
from gradscope.ranks.source.syntax import at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_CALLS = 64  # backward calls: what follows is the same again
_WRITES = (ast.Call, ast.Assign, ast.AugAssign)


def written_with(recording: Recording, buffers: Iterable[str], *, anywhere: bool = False) -> Site | None:
    """The line that makes what is first written into one of some buffers, where that is a variable of the function;
    else the line that writes one first. None where no line of the program names one that it writes. `anywhere`: outside
    of all modules as well."""
    names = {tuple(unwrapped(one).rpartition(".")[::2]) for one in buffers}
    first: Site | None = None
    for site, one in _writing(recording):
        named = any(name in (site.source or "") for _, name in names)
        for name, given in written_on(recording, site) if named else ():
            outside = anywhere and one.module is None and any(name == each for _, each in names)
            if outside or (_owner(one), name) in names:
                made = _made(recording, one, given)
                if made is not None:
                    return made
                first = first or site
    return first


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
