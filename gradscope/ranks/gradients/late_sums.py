"""Gradients that a program sums by hand too late: after the step that reads them, or while nobody waits for the sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.functions.source import called_name
from gradscope.model.averaging import Averaging
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.known import Told
from gradscope.ranks.source.syntax import nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_gradients_of_runs
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

_ROUNDS = 2  # at least, in which a sum came after the step
_ASYNCHRONOUS = "async_op"
_LATE = "its gradient is summed after the step that reads it, and cleared before the next one"
_UNWAITED = "nobody waits for the sum of its gradient, so that a step may read it before it is there"


@dataclass(frozen=True, slots=True)
class _Done:
    """A sum of a gradient, or a write of its parameter, and the stack of it."""

    is_sum: bool
    stack: Stack


def summed_late(recording: Recording, averaging: Averaging, leaf: str) -> Told | None:
    """Why the sum of a leaf's gradient that a program takes itself is of no use, and the line."""
    sites = [one.site for one in averaging.by_hand if one.leaf == leaf and one.site is not None]
    if not sites:
        return None
    if any(_is_unwaited(recording, site) for site in sites):
        return _UNWAITED, sites[0]
    late = _after_the_step(recording, leaf)
    return None if late is None else (_LATE, late)


def _is_unwaited(recording: Recording, site: Site) -> bool:
    """Whether a line begins a collective and drops what it could be waited for by."""
    statements = (one for one in nodes_of(tree_of(recording, site)) if isinstance(one, ast.Expr))
    calls = (one.value for one in statements if one.lineno <= site.line <= (one.end_lineno or 0))
    return any(isinstance(one, ast.Call) and called_name(one) != "wait" and _is_asynchronous(one) for one in calls)


def _is_asynchronous(call: ast.Call) -> bool:
    given = (one.value for one in call.keywords if one.arg == _ASYNCHRONOUS)
    return any(isinstance(one, ast.Constant) and one.value is True for one in given)


def _after_the_step(recording: Recording, leaf: str) -> Site | None:
    """The line that comes to the sum, in the function that comes to the step, where each sum came after the parameter
    was written, and before the next backward, which it was not after."""
    rounds = [order for order in _orders(recording, leaf) if any(one.is_sum for one in order)]
    if len(rounds) < _ROUNDS or not all(map(_is_late, rounds)):
        return None
    *_, step, late = rounds[0]
    steps = user_frames(step.stack)
    frames = user_frames(late.stack)
    return next((one for one in frames if any(one.is_in_function_of(each) for each in steps)), frames[0])


def _is_late(order: list[_Done]) -> bool:
    """Whether the parameter was written before its gradient was summed, and not after that."""
    return len(order) > 1 and order[-1].is_sum and not any(one.is_sum for one in order[:-1])


def _orders(recording: Recording, leaf: str) -> Iterator[list[_Done]]:
    """After each backward call: the writes of a parameter and the sums of its gradient, in their order."""
    with damage_is_one_sentence(recording.path):
        leaves = read_gradients_of_runs(recording.tables.rows, recording.tables.interned)
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    own = {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    order: list[_Done] = []
    inside = False
    for one in recording.flow():
        if one.backward is not None:
            if not inside:
                yield order
                order = []
            inside = True
            continue
        inside = False
        if is_collective(one.operation.name):
            order += [_Done(True, one.operation.stack)] if leaves.get(one.run) == leaf else []
        elif one.operation.writes and any(storages.get(at) in own for at in one.makes):
            order.append(_Done(False, one.operation.stack))
    yield order
