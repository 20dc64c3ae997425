"""The one line that reads numbers of a rank's own in what a condition calls, told by what ran and not by names: what is
called may be one of many methods of a name, in a loop over objects."""

from __future__ import annotations

from gradscope.model.operation import Operation
from gradscope.model.site import Site, user_frames
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_READS = ("aten._local_scalar_dense", "aten.is_nonzero", "aten.equal.")


def read_below(recording: Recording, condition: Site) -> Site | None:
    """The last line that reads a number in the one function that does below a condition, and meets nobody there."""
    read: dict[tuple[str, int], Site] = {}
    met: set[tuple[str, int]] = set()
    for block in recording.blocks():
        for one in block.operations if block.backward is None else ():
            below = _below(one, condition)
            if below and one.name.startswith(_READS):
                read[_function(recording, below[0])] = below[0]
            elif is_collective(one.name):
                met |= {_function(recording, site) for site in below}
    return next(iter(read.values())) if len(read) == 1 and not read.keys() & met else None


def _function(recording: Recording, site: Site) -> tuple[str, int]:
    """The function of a line: methods of several classes have one name."""
    around = function_around(tree_of(recording, site), site.line)
    return site.file, 0 if around is None else around.lineno


def _below(one: Operation, condition: Site) -> list[Site]:
    """The frames of an operator that a condition's line called, the innermost first."""
    frames = user_frames(one.stack)
    at = next((at for at, site in enumerate(frames) if str(site) == str(condition)), 0)
    return list(frames[:at])
