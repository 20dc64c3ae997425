"""Where the forwards of two ranks went apart, so that their backwards, which do not meet, have other graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.operation import Operation
from gradscope.model.site import Site
from gradscope.ranks.source.deciding import drawn_for
from gradscope.ranks.source.passing import parting
from gradscope.ranks.source.syntax import JUMPS, at_line, statements
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording


@dataclass(frozen=True, slots=True)
class Apart:
    """The condition by which they went apart, and the line that draws what it asks for, where one does."""

    condition: Site
    drawn: Site | None


def went_apart(here: Recording, there: Recording, backward: int) -> Apart | None:
    """The one condition between the last operator of modules that both ran on the way to a backward and the next of
    either."""
    ours, theirs = (_of_modules(ways_of(one).get(backward, [])) for one in (here, there))
    pairs = enumerate(zip(ours, theirs, strict=False))
    unlike = (place for place, (one, other) in pairs if str(one.site) != str(other.site))
    at = next(unlike, min(len(ours), len(theirs)))
    if not at or len(ours) == len(theirs) == at:
        return None
    last = ours[at - 1]
    beyond = [way[at] for way in (ours, theirs) if at < len(way)]
    found = {test.lineno: (site, test) for one in beyond for site, test in _tests(here, last, one)}
    if len(found) != 1:
        return None
    site, test = next(iter(found.values()))
    return Apart(at_line(here, site, test.lineno), drawn_for(here, last.stack, site, test))


def _of_modules(way: list[Operation]) -> list[Operation]:
    """What ran in modules, with gradients on: what a rank prints, say, has no part in its graph."""
    return [one for one in way if one.module is not None and one.grad]


def _tests(recording: Recording, last: Operation, beyond: Operation) -> Iterator[tuple[Site, ast.expr]]:
    """The conditions between two operators, in the innermost function around both, that may lead past the second."""
    parted = parting(last.stack, beyond.stack)
    if parted is None or parted[1].line <= parted[0].line:
        return
    start, end = parted[0].line, parted[1].line
    conditions = [node for node in statements(recording, parted[0]) if isinstance(node, ast.If)]
    for node in conditions:
        leads_past = end <= (node.end_lineno or 0) or isinstance(node.body[-1], JUMPS)
        if start <= node.lineno < end and leads_past:
            yield parted[0], node.test
