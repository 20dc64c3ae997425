"""Holds a recorded graph against the live one: node for node and edge for edge, from the roots on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import gradscope
from gradscope.model.graph import Graph

UNNUMBERED = 2**64 - 1


@dataclass
class LiveNode:
    """What torch itself says of a node. Targets are (live number, input number) or None by output."""

    name: str
    seq_nr: int | None
    shapes: list[tuple[int, ...]]
    targets: list[tuple[int, int] | None] = field(default_factory=list)


def live_nodes(outputs: Sequence[torch.Tensor]) -> tuple[list[LiveNode], list[int]]:
    """Walk the live graph depth first; returns plain data and the roots' numbers."""
    numbers: dict[Any, int] = {}
    nodes: list[LiveNode] = []
    roots = [torch.autograd.graph.get_gradient_edge(output).node for output in outputs]
    pending = list(roots)
    order = []
    while pending:
        node = pending.pop()
        if node in numbers:
            continue
        numbers[node] = len(nodes)
        order.append(node)
        seq = node._sequence_nr()
        shapes = [tuple(meta.shape) for meta in node._input_metadata]
        nodes.append(LiveNode(node.name(), None if seq == UNNUMBERED else seq, shapes))
        pending.extend(target for target, _ in node.next_functions if target is not None)
    for node, live in zip(order, nodes, strict=True):
        live.targets = [None if target is None else (numbers[target], nr) for target, nr in node.next_functions]
    return nodes, [numbers[root] for root in roots]


def assert_same(graph: Graph, live: list[LiveNode], roots: list[int]) -> dict[int, int]:
    """The recorded graph is the live one. Returns the live number of each recorded id."""
    assert len(graph.nodes) == len(live)
    outgoing: dict[int, dict[int, tuple[int, int]]] = {}
    for edge in graph.edges:
        outgoing.setdefault(edge.source, {})[edge.output] = (edge.target, edge.input_nr)
    pairs = dict(zip(graph.roots, roots, strict=True))
    pending = list(pairs.items())
    while pending:
        recorded, number = pending.pop()
        node, real = graph.nodes[recorded], live[number]
        assert (node.name, node.seq_nr) == (real.name, real.seq_nr)
        assert [meta.shape for meta in node.inputs_meta if meta is not None] == real.shapes
        targets = {output: target for output, target in enumerate(real.targets) if target is not None}
        mine = outgoing.get(recorded, {})
        assert mine.keys() == targets.keys()
        for output, (target, input_nr) in targets.items():
            reached, nr = mine[output]
            assert nr == input_nr
            if reached not in pairs:
                pairs[reached] = target
                pending.append((reached, target))
            assert pairs[reached] == target
    assert len(set(pairs.values())) == len(live)
    return pairs


@contextmanager
def recording(folder: Path, detail: str = "ops") -> Iterator[Path]:
    """Record the block, and find no fault of gradscope's own in the recording."""
    path = folder / "run.gscope"
    with gradscope.record(path, detail=detail, overwrite=True) as recorded:
        yield path
    assert recorded.summary is not None
    assert recorded.summary.faults == {}, recorded.summary.faults
    assert recorded.summary.failure is None
