"""A sum of losses that a plain number divides which is how many the losses of all ranks are together: no operator says
where it comes from (`total.item()`), but what nodes receive says how large it is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.graph import Graph, Node
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.divided_by_all import counts_read, is_scaled_otherwise
from gradscope.store.reader import Recording, load

_DIVIDES = re.compile(r"DivBackward\d")
_PASSES = re.compile(r"(Div|Mul|Add|Sub|Neg|ToCopy|View|Squeeze)Backward\d")
_SUMS = re.compile(r"(Sum|NllLoss|NllLoss2D|MseLoss|L1Loss|SmoothL1Loss|HuberLoss)Backward\d")
_LOOKS = 3  # backward calls, at least
_NEAR = 1e-3  # relative: what nodes receive has few digits


@dataclass(frozen=True, slots=True)
class _Quotient:
    """A sum of so many losses on its way to the root: the line that divides it, by what, and what else scales it."""

    site: Site
    many: int
    by: float
    others: tuple[float, ...]


def divided_by_total(ranks: Ranks, replicas: Replicas) -> Site | None:
    """The one line that reads the number from a sum of all ranks, else that divides; None where anything else in the
    program may take the division back."""
    quotients: list[dict[int, list[_Quotient]]] = []
    for number in replicas.members:
        with load(Path(ranks.rank(number).path)) as recording:
            if is_scaled_otherwise(ranks, replicas, recording):
                return None
            quotients.append(_quotients(recording))
    looks = sorted(set.intersection(*(set(one) for one in quotients)))
    lines = {str(one.site): one.site for each in quotients for look in looks for one in each[look]}
    columns = {line: [_at(line, [one[look] for one in quotients]) for look in looks] for line in lines}
    divides = next((lines[line] for line, column in columns.items() if _is_by_all(column)), None)
    if divides is None:
        return None
    with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
        read = counts_read(recording, replicas)
    return read[0] if len(read) == 1 else divides


def _at(line: str, of_ranks: list[list[_Quotient]]) -> list[_Quotient]:
    """What each rank divides on a line in one backward; nothing where one has none, or several."""
    found = [[one for one in each if str(one.site) == line] for each in of_ranks]
    return [each[0] for each in found] if all(len(each) == 1 for each in found) else []


def _is_by_all(column: list[list[_Quotient]]) -> bool:
    """Whether each look has all ranks divide by the number of losses of all, which is not always the same."""
    if len(column) < _LOOKS or len({each[0].by for each in column if each}) < _LOOKS - 1:
        return False
    return all(each and all(_is_total(one, each) for one in each) for each in column)


def _is_total(one: _Quotient, all_ranks: list[_Quotient]) -> bool:
    total, world = sum(each.many for each in all_ranks), len(all_ranks)
    scaled = any(math.isclose(each, world, rel_tol=_NEAR) for each in one.others)
    return one.many < total and math.isclose(one.by, total, rel_tol=_NEAR) and not scaled


def _quotients(recording: Recording) -> dict[int, list[_Quotient]]:
    """By backward whose nodes were measured: the sums of losses in it that are divided."""
    known = recording.graph_sizes()
    measured = ((number, sizes) for number, sizes in recording.node_sizes().items() if number in known)
    return {number: list(_of_graph(recording.graph(number), sizes)) for number, sizes in measured}


def _of_graph(graph: Graph, sizes: dict[int, float]) -> Iterator[_Quotient]:
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    scales: dict[int, tuple[float, ...]] = {root: () for root in graph.roots if len(graph.roots) == 1}
    for at in (waiting := list(scales)):  # grows while it is walked
        node, targets = graph.nodes[at], onward.get(at, ())
        for target in targets if _PASSES.fullmatch(node.name) and _is_one_number(node) else ():
            received, passed = sizes.get(at, 1.0 if at in graph.roots else 0.0), sizes.get(target, 0.0)
            if not received or not passed or target in scales:
                continue
            ends = _SUMS.fullmatch(graph.nodes[target].name) is not None
            many = _many(graph, onward.get(target, [])) if ends else 0
            if many and _DIVIDES.fullmatch(node.name) and len(targets) == 1 and node.site is not None:
                yield _Quotient(node.site, many, received / passed, scales[at])
            scales[target] = (*scales[at], passed / received)
            waiting.append(target)


def _many(graph: Graph, inside: list[int]) -> int:
    """How many losses a node sums."""
    metas = [meta for one in inside[:1] for meta in graph.nodes[one].inputs_meta[:1] if meta is not None]
    return math.prod(metas[0].shape) if metas else 0


def _is_one_number(node: Node) -> bool:
    return any(one is not None and math.prod(one.shape) == 1 for one in node.inputs_meta[:1])
