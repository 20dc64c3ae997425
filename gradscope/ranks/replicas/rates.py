"""Where ranks come to learning rates of their own: by what they make, by a schedule, by a line that sets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import names_in
from gradscope.model.site import Site
from gradscope.model.training import MADE, SCHEDULE
from gradscope.ranks.replicas.followed_rates import followed_at
from gradscope.ranks.replicas.settings import written_for_a_rank
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, conditions_of, origin
from gradscope.ranks.source.stoppers import given_to
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_RATE = "lr"


def unlike_rates(here: Recording, there: Recording) -> tuple[str, Site] | None:
    """Another learning rate: the line that made the optimizer, the schedule's, or by which the program sets it."""
    ours, theirs = (
        {(one.count, one.optimizer, one.group): one.value for one in recording.learning_rates()}
        for recording in (here, there)
    )
    unlike = [key for key in sorted(ours.keys() | theirs.keys()) if ours.get(key) != theirs.get(key)]
    if not unlike:
        return None
    count, optimizer, _ = unlike[0]
    is_alone = unlike[0] not in ours or unlike[0] not in theirs
    site = _made(here, optimizer) if count <= 0 else _scheduled(here) or _set_by_hand(here, is_alone)
    when = "" if count <= 0 else f" from step {count} on"
    return None if site is None else (f"their learning rates are not the same{when}", site)


def _made(recording: Recording, optimizer: int) -> Site | None:
    calls = (call for interval in recording.intervals() for call in interval.calls)
    made = (call for call in calls if call.kind is MADE and call.optimizer == optimizer and call.site is not None)
    call = next(made, None)
    return None if call is None else written_for_a_rank(recording, call.stack) or call.site


def _scheduled(recording: Recording) -> Site | None:
    calls = (call for interval in recording.intervals() for call in interval.calls)
    return next((call.site for call in calls if call.kind is SCHEDULE and call.site is not None), None)


def _set_by_hand(recording: Recording, is_alone: bool) -> Site | None:
    """The one line by which ranks come to set other rates: the condition of the rank above that, else the call that
    gives a function a value of a rank's own by which it sets them; else, where one rank alone sets them, the condition
    around the line; else the line that asks an object of a rank's own for what they follow; else the line itself."""
    places = list(_setting(recording))
    by_rank = {found for one in places for found in [_asked_above(recording, one)] if found is not None}
    given = {found for one in places for found in [given_to(recording, one)] if found is not None}
    functions = {(one.file, one.function) for one in places}
    found = by_rank or given
    if not found and len(functions) == 1:
        followed = followed_at(recording, places[0]) if len(places) == 1 else None
        decided = _decided(recording, places[0]) if is_alone and len(places) == 1 else None
        found = {decided or followed or places[0]}
    return found.pop() if len(found) == 1 else None


def _decided(recording: Recording, site: Site) -> Site | None:
    """The condition around a line, in its function, if there is only one: of several, any may have differed. None where
    the value itself may differ as well, so that one rank sets what it had."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line) or tree
    if not all(_is_fixed(node) for node in ast.walk(function) if getattr(node, "lineno", 0) == site.line):
        return None
    around = [node for node in ast.walk(function) if isinstance(node, ast.If) and _holds(node, site.line)]
    tests = [node.test.lineno for node in around if "__name__" not in names_in(node.test)]
    return at_line(recording, site, tests[0]) if len(tests) == 1 else None


def _holds(node: ast.If, line: int) -> bool:
    return node.lineno < line <= (node.end_lineno or 0)


def _is_fixed(node: ast.AST) -> bool:
    """Whether an assignment goes by constants and what it writes to; anything else is none."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return True
    places = names_in(*(node.targets if isinstance(node, ast.Assign) else [node.target]))
    chooses = any(isinstance(one, ast.IfExp) for one in ast.walk(node.value))
    return not chooses and all(name.isupper() for name in names_in(node.value) - places)


def _asked_above(recording: Recording, site: Site) -> Site | None:
    """The condition of the rank under which the source comes to a line."""
    for frames in ways_to(recording, site.file, tree_of(recording, site), site.line):
        for at, frame in enumerate(frames):
            for test in conditions_of(frame):
                found = origin(recording, frames[at:], test, asks_for_rank)
                if found is not None:
                    return found
    return None


def _setting(recording: Recording) -> Iterator[Site]:
    """The lines that put something into a group of parameters as its rate."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(map(_is_rate, targets)):
                    around = function_around(tree, node.lineno)
                    name = "<module>" if around is None else around.name
                    yield at_line(recording, Site(file, node.lineno, name), node.lineno)


def _is_rate(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == _RATE
