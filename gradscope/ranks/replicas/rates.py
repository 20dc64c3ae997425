"""Where ranks come to learning rates of their own: by what they make, by a schedule, by a line that sets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.model.site import Site
from gradscope.model.training import MADE, SCHEDULE
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
    site = _made(here, optimizer) if count <= 0 else _scheduled(here) or _set_by_hand(here)
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


def _set_by_hand(recording: Recording) -> Site | None:
    """The one line by which ranks come to set other rates: the condition of the rank above that, else the call that
    gives a function a value of a rank's own by which it sets them; else the line itself."""
    places = list(_setting(recording))
    by_rank = {found for one in places for found in [_asked_above(recording, one)] if found is not None}
    given = {found for one in places for found in [given_to(recording, one)] if found is not None}
    functions = {(one.file, one.function) for one in places}
    found = by_rank or given or (set(places[:1]) if len(functions) == 1 else set())
    return found.pop() if len(found) == 1 else None


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
