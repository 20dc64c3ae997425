"""The one line that reads numbers of a rank's own in what a condition calls, told by what ran and not by names: what is
called may be one of many methods of a name, in a loop over objects."""

from __future__ import annotations

import ast

from gradscope.model.operation import Operation
from gradscope.model.site import Site, user_frames
from gradscope.ranks.source.syntax import function_around, statements, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_READS = ("aten._local_scalar_dense", "aten.is_nonzero", "aten.equal.")


def read_below(recording: Recording, condition: Site) -> Site | None:
    """The last line that reads a number in the one function that does below a condition, and meets nobody there; where
    that is a condition as well, the line of this function that makes what it reads."""
    read: dict[tuple[str, int], Site] = {}
    met: set[tuple[str, int]] = set()
    for block in recording.blocks():
        for one in block.operations if block.backward is None else ():
            below = _below(one, condition)
            if below and one.name.startswith(_READS):
                read[_function(recording, below[0])] = below[0]
            elif is_collective(one.name):
                met |= {_function(recording, site) for site in below}
    if len(read) != 1 or read.keys() & met:
        return None
    found = next(iter(read.values()))
    return _made_for(recording, condition, found) if _is_condition(recording, found) else found


def measures_below(recording: Recording, condition: Site, asked: Site) -> bool:
    """Whether a condition calls what reads a number, and it is neither there nor in the condition that something asks
    which rank it is: but where a rank has its samples, say, of which the number is made."""
    read = read_below(recording, condition)
    places = () if read is None else (_function(recording, read),)
    return read is not None and str(asked) != str(condition) and _function(recording, asked) not in places


def _is_condition(recording: Recording, site: Site) -> bool:
    nodes = (node for node in statements(recording, site) if isinstance(node, ast.If | ast.While))
    return any(node.test.lineno <= site.line <= (node.test.end_lineno or 0) for node in nodes)


def _made_for(recording: Recording, condition: Site, read: Site) -> Site:
    """The line of a function that last made what a line of it reads; else that line."""
    made: dict[int, Site] = {}
    found = read
    for one in recording.flow():
        below = _below(one.operation, condition) if one.backward is None else []
        if not below or _function(recording, below[0]) != _function(recording, read):
            continue
        if one.operation.name.startswith(_READS) and str(below[0]) == str(read):
            found = next((made[each.tensor] for each in one.reads if each.tensor in made), found)
        made.update(dict.fromkeys(one.makes, below[0]))
    return found


def _function(recording: Recording, site: Site) -> tuple[str, int]:
    """The function of a line: methods of several classes have one name."""
    around = function_around(tree_of(recording, site), site.line)
    return site.file, 0 if around is None else around.lineno


def _below(one: Operation, condition: Site) -> list[Site]:
    """The frames of an operator that a condition's line called, the innermost first."""
    frames = user_frames(one.stack)
    at = next((at for at, site in enumerate(frames) if str(site) == str(condition)), 0)
    return list(frames[:at])
