"""What left parameters out of a loss, of which DistributedDataParallel then missed the gradients: a branch, a trip of
a loop that a condition leaves out, a layer that nothing runs, else the line that wraps the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from gradscope.functions.source import is_attribute_of
from gradscope.model.finding import Related
from gradscope.model.graph import Graph
from gradscope.model.operation import Operation
from gradscope.model.rank import Rank
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.meeting.left_terms import left_term
from gradscope.ranks.meeting.never_used import never_used
from gradscope.ranks.source.skipped_trips import decides_in
from gradscope.ranks.source.syntax import at_line, statements
from gradscope.ranks.source.ways import ways_of
from gradscope.ranks.source.wrapper_names import orders_of
from gradscope.store.reader import Recording, load

NEVER = "Expected to have finished reduction in the prior iteration"  # what DistributedDataParallel raises
_OFFERS = "find_unused_parameters=True"  # in its words, where it was not given that
_OTHERS = 8  # ranks that are asked
_BEFORE = 8  # backward calls before that are looked at


def left_out(ranks: Ranks, one: Rank, recording: Recording) -> Told | None:
    """What left parameters out of the loss of the last backward call of the rank that raised, in words, and the line:
    one that is known to have gone another way, one that alone may have, what built a layer, what wraps the model."""
    number = len(recording.backwards()) - 1
    if number < 0:
        return None
    now = recording.graph(number)
    reached = _leaves(now)
    missing = {leaf for leaf in ranks.averaging[one.rank].leaves if leaf not in reached}
    way = ways_of(recording).get(number, [])
    used = list(_used(ranks, one, recording, number, missing))
    for leaf, stack in used:
        site = next(filter(None, (_passed(recording, frame, way) for frame in user_frames(stack))), None)
        if site is not None:
            return f"after {leaf} was left out of the loss of backward {number}", site
    ran = {unwrapped(one.module.path) for one in way if one.module is not None}
    for leaf, stack in used:
        site = decides_in(recording, stack) if unwrapped(leaf).rpartition(".")[0] not in ran else None
        if site is not None:
            return f"after line {site.line} had left {leaf} out of the loss of backward {number}", site
    for graph in _alike(ranks, one, recording, number):
        known = missing & _leaves(graph)
        site = left_term(recording, way, now, graph, known) if known else None
        if site is not None:
            return f"after line {site.line} had left {min(known)} out of the loss of backward {number}", site
    return never_used(ranks, one.rank, recording, reached) or _wrapped_plainly(ranks, one, number)


def wrapped_at(ranks: Ranks, one: Rank, told: Site) -> tuple[Related, ...]:
    """Where a rank wraps what it missed gradients of, if it has one wrapper, and that is not the line that is told."""
    site = _wrapper(ranks, one)
    if site is None or str(site) == str(told):
        return ()
    return (Related("cause_at", site, f"where the model is wrapped, without {_OFFERS}"),)


def _wrapped_plainly(ranks: Ranks, one: Rank, number: int) -> Told | None:
    site = _wrapper(ranks, one)
    if site is None:
        return None
    return f"after parameters had no part in the loss of backward {number}, of a model wrapped without {_OFFERS}", site


def _wrapper(ranks: Ranks, one: Rank) -> Site | None:
    """The line of a rank's one wrapper, which missed gradients, and was not told to look for them."""
    text = one.exception or ""
    is_meant = NEVER in text and _OFFERS in text and len(orders_of(ranks, one.rank)) == 1
    return ranks.averaging[one.rank].wrapped if is_meant else None


def _used(ranks: Ranks, one: Rank, recording: Recording, number: int, missing: set[str]) -> Iterator[tuple[str, Stack]]:
    """Missing leaves with where they are used: by another rank in the same backward call, else by this one earlier."""
    others = (other for other in ranks.ranks if other.rank != one.rank and other.backwards > number)
    for other in islice(others, _OTHERS):
        with load(Path(other.path)) as there:
            yield from _stacks(there.graph(number), missing)
    if number > 0:
        yield from _stacks(recording.graph(number - 1), missing)


def _alike(ranks: Ranks, one: Rank, recording: Recording, number: int) -> Iterator[Graph]:
    """The graphs of calls like a backward call: those of other ranks, and the last of its own line, among the last."""
    others = (other for other in ranks.ranks if other.rank != one.rank and other.backwards > number)
    for other in islice(others, _OTHERS):
        with load(Path(other.path)) as there:
            yield there.graph(number)
    calls = recording.backwards()
    for before in reversed(calls[max(0, number - _BEFORE) : number]):
        if str(before.site) == str(calls[number].site):
            yield recording.graph(before.number)
            return


def _stacks(graph: Graph, leaves: set[str]) -> Iterator[tuple[str, Stack]]:
    """Each of some leaves with the frames of what used it, which are not always those that a leaf's own node has."""
    names = {node.id: node.leaf for node in graph.nodes if node.leaf in leaves}
    for edge in graph.edges:
        leaf = names.get(edge.target)
        if leaf is not None:
            yield leaf, graph.nodes[edge.source].stack


def _leaves(graph: Graph) -> set[str]:
    return {node.leaf for node in graph.nodes if node.leaf is not None}


def _passed(recording: Recording, used: Site, way: list[Operation]) -> Site | None:
    """The first line of a branch that was taken in place of that with a line, else the condition, innermost first: also
    where this branch has a layer of its own, for then the model is meant to run one of them."""
    ran = {site.line for one in way for site in one.stack if site.is_in_function_of(used)}
    if not ran or used.line in ran:
        return None
    for node in reversed(statements(recording, used)):
        arms = [node.body, node.orelse] if isinstance(node, ast.If) else []
        holding = [arm for arm in arms if _in_arm(arm, used.line)]
        if holding and not any(_in_arm(holding[0], line) for line in ran):
            others = sorted(line for arm in arms if arm is not holding[0] for line in ran if _in_arm(arm, line))
            taken = [arm for arm in arms if arm is not holding[0] and any(map(_runs_a_part, arm))]
            return at_line(recording, used, others[0] if others and not taken else node.lineno)
    return None


def _runs_a_part(statement: ast.stmt) -> bool:
    """Whether a statement calls what `self` has, as forwards call layers."""
    return any(isinstance(one, ast.Call) and is_attribute_of(one.func, "self") for one in ast.walk(statement))


def _in_arm(arm: list[ast.stmt], line: int) -> bool:
    return bool(arm) and arm[0].lineno <= line <= (arm[-1].end_lineno or 0)
