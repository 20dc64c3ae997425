"""A rank's share of a list that begins again at the first elements where their number does not divide."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import SUMS, sum_on
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.lengths import Lengths
from gradscope.ranks.source.syntax import Function, Loop, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_BACKWARD = "backward"

Wrapped = tuple[Site, int]


def wrapped_share(ranks: Ranks, recording: Recording) -> Iterator[Wrapped]:
    """The line of such a share that a function goes through which sums over the ranks, and the number of elements."""
    summed = {(one.site.file, one.site.line) for one in ranks.collectives if one.site and one.operator.startswith(SUMS)}
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            if isinstance(node, ast.Subscript) and _wraps(node):
                ways = [
                    way
                    for way in ways_to(recording, file, tree, node.lineno)
                    if isinstance(way[-1].function, ast.Module)
                ]
                numbers = {Lengths(recording).of(way, node.value) for way in ways}
                number = numbers.pop() if len(numbers) == 1 else None
                if number is not None and number % len(ranks.ranks) and _is_scored(recording, node, summed):
                    yield at_line(recording, Site(file, node.lineno), node.lineno), number


def _wraps(node: ast.Subscript) -> bool:
    """Whether an element is taken by the number of the rank, from the first on where there are no more."""
    at = node.slice
    is_rest = isinstance(at, ast.BinOp) and isinstance(at.op, ast.Mod) and asks_for_rank(at.left)
    return is_rest and isinstance(at, ast.BinOp) and ast.unparse(at.right) == f"len({ast.unparse(node.value)})"


def _is_scored(recording: Recording, share: ast.Subscript, summed: set[tuple[str, int]]) -> bool:
    """Whether a function goes through a share, and has summed over the ranks, without a backward."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for function in (one for one in nodes_of(tree) if isinstance(one, Function)):
            lines = [line for of, line in summed if of == file and sum_on(function, line) is not None]
            calls = {called_name(one) for one in ast.walk(function) if isinstance(one, ast.Call)}
            if not lines or _BACKWARD in calls:
                continue
            for loop in (one for one in ast.walk(function) if isinstance(one, Loop) and not isinstance(one, ast.While)):
                for frames in ways_to(recording, file, tree, loop.lineno):
                    if origin(recording, frames, loop.iter, lambda value: share in ast.walk(value)) is not None:
                        return True
    return False
