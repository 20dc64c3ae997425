"""Sums over ranks that hooks of leaves make inside of a backward call, after it has given the leaf its gradient: no way
of tensors leads to them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradscope.functions.source import called_name
from gradscope.model.operation import Operation, base_name
from gradscope.model.rank import Collective
from gradscope.model.site import Site, Stack
from gradscope.ranks.gradients.doubled import sum_on
from gradscope.ranks.source.syntax import function_around, nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_SUMS = "allreduce_"
_STEPS = "profiler."  # what optimizers run in, when they step and when they clear
_LATER = frozenset(("then", "add_done_callback"))  # call what scales on a thread of its own, which nobody sees


@dataclass(frozen=True, slots=True)
class LeafSum:
    """A sum in the node of a leaf: where it is in its block, in which backward, where it stands, and the shapes of what
    that line sums."""

    run: int
    position: int
    backward: int
    node: int
    stack: Stack
    site: Site
    shapes: frozenset[tuple[int, ...]]


def leaf_sums(recording: Recording, runs: set[int], sums: list[Collective]) -> list[LeafSum]:
    """Those of some blocks, in order, each the first of its leaf in its backward call, before which nothing but the
    engine ran there; none where a program has something called once a sum is done."""
    if _goes_on_later(recording):
        return []
    found, graphs = list[LeafSum](), dict[int, set[int]]()
    sizes, seen = recording.graph_sizes(), set[tuple[int, int]]()
    for block in recording.blocks():
        if block.backward is None or block.number not in runs or block.backward not in sizes:
            continue
        if block.backward not in graphs:
            nodes = recording.graph(block.backward).nodes
            graphs[block.backward] = {node.id for node in nodes if node.leaf is not None}
        for position, one in enumerate(block.operations):
            at = block.backward, -1 if one.node is None else one.node
            if at[1] in graphs[block.backward] and at not in seen and base_name(one.name) == _SUMS:
                seen.add(at)
                if one.site is not None and _is_sum(recording, one):
                    shapes = (each.shape for kind in sums if str(kind.site) == str(one.site) for each in kind.types)
                    found.append(LeafSum(block.number, position, *at, one.stack, one.site, frozenset(shapes)))
    return sorted(found, key=lambda one: (one.run, one.position))


def quiet_runs(recording: Recording) -> set[int]:
    """The blocks outside of backward calls in which nothing steps, meets others, or is written but by adding to it."""
    blocks = (block for block in recording.blocks() if block.backward is None)
    return {block.number for block in blocks if all(map(_is_quiet, block.operations))}


def _is_quiet(one: Operation) -> bool:
    name = base_name(one.name)
    writes = (name.endswith("_") and name != "add_") or name.startswith("_foreach_")
    return not writes and not one.name.startswith(_STEPS) and not is_collective(one.name)


def _is_sum(recording: Recording, one: Operation) -> bool:
    function = None if one.site is None else function_around(tree_of(recording, one.site), one.site.line)
    return function is not None and one.site is not None and sum_on(function, one.site.line) is not None


def _goes_on_later(recording: Recording) -> bool:
    trees = (tree_of(recording, Site(file, 1)) for file in recording.sources())
    nodes = (node for tree in trees for node in nodes_of(tree))
    return any(isinstance(node, ast.Call) and called_name(node) in _LATER for node in nodes)
