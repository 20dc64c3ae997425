"""Which of two ranks went into a branch that the other passed by, told by the frames under which they then were."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.syntax import at_line, function_around, statements, tree_of
from gradscope.store.reader import Recording

_OF_A_RANK = re.compile(r"rank|main|master|primary|chief|leader", re.IGNORECASE)  # names that tell one from others


@dataclass(frozen=True, slots=True)
class Branch:
    """The line of a condition, and the one under it at which a rank was."""

    condition: Site
    inside: Site


def passed_by(recording: Recording, stack: Stack, other: Stack) -> Branch | None:
    """The branch in which a rank was, when another one was below that branch in the same call of a function."""
    parted = parting(stack, other)
    if parted is None:
        return None
    lines, ours = list(_conditions(recording, *parted)), parted[0]
    if not lines:
        return _decorated(recording, stack, other)
    conditions = [at_line(recording, ours, line) for line in lines]
    of_a_rank = (one for one in conditions if _OF_A_RANK.search(one.source or ""))
    return Branch(next(of_a_rank, conditions[-1]), ours)


def _decorated(recording: Recording, stack: Stack, other: Stack) -> Branch | None:
    """The decorator that lets one rank alone into a function in which the other is not."""
    beside = {(site.file, site.function) for site in other}
    for site in (one for one in _outside_in(stack) if (one.file, one.function) not in beside):
        function = function_around(tree_of(recording, site), site.line)
        for decorator in function.decorator_list if function is not None else ():
            if _OF_A_RANK.search(ast.unparse(decorator)):
                line = at_line(recording, site, decorator.lineno)
                return Branch(line, line)
    return None


def parting(stack: Stack, other: Stack) -> tuple[Site, Site] | None:
    """The first frames from outside in of the user's own that are not at the same line, in one function."""
    pairs = zip(_outside_in(stack), _outside_in(other), strict=False)
    one, two = next(((one, two) for one, two in pairs if str(one) != str(two)), (None, None))
    if one is None or two is None or (one.file, one.function) != (two.file, two.function):
        return None
    return one, two


def _outside_in(stack: Stack) -> Iterator[Site]:
    return (site for site in reversed(stack) if site.origin is Origin.USER)


def _conditions(recording: Recording, ours: Site, theirs: Site) -> Iterator[int]:
    """The lines of those around one line and above another one, from outside in."""
    for node in statements(recording, ours):
        if isinstance(node, ast.If) and node.lineno < ours.line <= (node.end_lineno or 0) < theirs.line:
            yield node.lineno
