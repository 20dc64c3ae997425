"""A parameter that one rank alone steps and sends to nobody, where ranks send each other what they step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from gradscope.model.site import Site
from gradscope.ranks.core.copies import Apart
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.gradients.sent_parameters import held_by, sent_by
from gradscope.ranks.replicas.joining import joined_at
from gradscope.ranks.source.syntax import JUMPS, Loop, at_line, function_around, tree_of
from gradscope.store.reader import Recording, load

_MOST = 8  # ranks: each is read


def passed_over(ranks: Ranks, found: Apart) -> Told | None:
    """Which rank keeps a parameter that is not the same on all for itself, in words, and the line by which it
    joined later, or the one condition under which the loop that broadcasts others passes by some; else its line."""
    if len(found.members) > _MOST:
        return None
    with ExitStack() as files:
        read = {one: files.enter_context(load(Path(ranks.rank(one).path))) for one in found.members}
        held = {one: {ranks.own(one, leaf) for leaf in held_by(recording)} for one, recording in read.items()}
        owners = [one for one, leaves in held.items() if found.leaf in leaves]
        if len(owners) != 1:
            return None
        sent = {ranks.own(owners[0], leaf): site for leaf, site in sent_by(read[owners[0]]).items()}
        alone = {leaf for leaf in sent if sum(leaf in leaves for leaves in held.values()) == 1}
        site = next((sent[leaf] for leaf in sorted(alone)), None)
        if site is None or found.leaf in sent:
            return None
        why = f"rank {owners[0]} alone steps it, and sends it to no other, as is done with {min(alone)}"
        own = next(leaf for leaf in held_by(read[owners[0]]) if ranks.own(owners[0], leaf) == found.leaf)
        joined = joined_at(read[owners[0]], own, site)
        return why, joined or _passes_by(read[owners[0]], site) or site


def _passes_by(recording: Recording, site: Site) -> Site | None:
    function = function_around(tree_of(recording, site), site.line)
    loops = [one for one in ast.walk(function) if isinstance(one, Loop) and _holds(one, site.line)] if function else []
    lines = list(_conditions(loops[-1], site.line)) if loops else []
    return at_line(recording, site, lines[0]) if len(lines) == 1 else None


def _conditions(loop: ast.AST, line: int) -> Iterator[int]:
    """The lines of the conditions of a loop under which it does not come to a line of it."""
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and (_holds(node, line) or _leaves_before(node, line)):
            yield node.test.lineno


def _leaves_before(node: ast.If, line: int) -> bool:
    return (node.end_lineno or 0) < line and isinstance(node.body[-1], JUMPS)


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno < line <= (node.end_lineno or 0)
