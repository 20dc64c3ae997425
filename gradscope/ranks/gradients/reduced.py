"""Backward calls whose gradients DistributedDataParallel averages, and how the source divides a loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Stack
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.deciding import names_their_number, origin
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

DIVIDES = frozenset(("div", "div_"))
_SUMS = "c10d.allreduce_."
_HOOK = "register_comm_hook"  # by which the wrapper may sum, and not average


def is_hooked(recording: Recording) -> bool:
    """Whether the program says how the wrapper reduces gradients."""
    return any(True for _ in calls_of(recording, _HOOK))


def meets_nobody(recording: Recording, backward: int) -> bool:
    """Whether no node but the leaves runs a collective: one of a Function would sum the gradients of all."""
    if backward not in recording.graph_sizes():
        return False
    nodes = recording.graph(backward).nodes
    ran = recording.operators(backward)
    return not any(is_collective(name) and node is not None and not nodes[node].leaf for node, name in ran)


def averages(recording: Recording, backward: int) -> bool:
    """Whether gradients were reduced in a backward, at its leaves or its end and nowhere else, as the wrapper does."""
    if not meets_nobody(recording, backward):
        return False
    return any(name.startswith(_SUMS) for _, name in recording.operators(backward))


def meetings_of(recording: Recording, replicas: Replicas) -> set[int]:
    """The stretches of operators that ended with a collective of the group in which gradients are averaged."""
    members = set(replicas.members)
    with damage_is_one_sentence(recording.path):
        rows = recording.tables.rows
        groups = read_process_groups(rows, recording.tables.interned)
        return {run for run, number in read_groups_of_runs(rows).items() if set(groups[number].members) == members}


def divisors(node: ast.AST) -> Iterator[ast.expr]:
    """What a part of a line divides by."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield node.right
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
        yield node.value
    elif isinstance(node, ast.Call) and called_name(node) in DIVIDES:
        yield from node.args[-1:]


def is_by_their_number(recording: Recording, stack: Stack, world: int) -> bool:
    """Whether what a line divides by goes back to the number of ranks, by the names in the source."""
    frames = frames_of(recording, stack)
    if not frames:
        return False

    def is_number(value: ast.expr) -> bool:
        return (isinstance(value, ast.Constant) and value.value == world) or names_their_number(value)

    line = frames[0].site.line
    nodes = (node for node in ast.walk(frames[0].function) if line == getattr(node, "lineno", 0))
    by = (value for node in nodes for value in divisors(node))
    return any(origin(recording, frames, value, is_number) is not None for value in by)
