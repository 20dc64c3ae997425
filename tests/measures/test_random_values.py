"""Random programs keep a log of what was saved and of the gradients that came; the recording says the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.measures.memory import kept
from gradscope.model.statistics import GradientStatistics
from tests.engine.programs import OPERATIONS, edit_view, random_tensors
from tests.probes.against import recording
from tests.torch_versions import needs_saved_tensors

# Not a checkpoint, which keeps tokens, and no edit of a view: torch shows nobody the node inside its CopySlices.
SAVING = tuple(one for one in OPERATIONS[:-1] if one is not edit_view)
Gradient = tuple[str, tuple[float | None, ...]]


def loss(seed: int, operations: tuple[Any, ...]) -> torch.Tensor:
    torch.manual_seed(seed)
    pool = random_tensors(random.Random(seed), operations, 12)
    total: torch.Tensor = torch.stack([tensor.sum() for tensor in pool]).sum()
    return total


def nodes_of(root: Any) -> list[Any]:
    found, waiting = {root: None}, [root]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                waiting.append(node)
    return list(found)


def noted(log: list[Gradient], name: str) -> Callable[..., None]:
    def note(gradients: Any) -> None:
        log.append((name, tuple(None if one is None else one.double().norm().item() for one in gradients)))

    return note


def received(statistics: tuple[GradientStatistics, ...], node: int, count: int) -> tuple[float | None, ...]:
    known = {one.index: one.norm for one in statistics if (one.node, one.side) == (node, "in")}
    return tuple(known.get(index) for index in range(count))


@needs_saved_tensors
@pytest.mark.parametrize("seed", range(30))
def test_what_nodes_keep_is_what_was_packed(seed: int, tmp_path: Path) -> None:
    packed: Counter[tuple[str, tuple[int, ...]]] = Counter()
    memory: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed[str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)] += 1
        memory[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        held = loss(seed, SAVING)  # alive while its memory is told apart
    with recording(tmp_path) as path:
        loss(seed, SAVING).backward()
    with gradscope.load(path) as opened:
        graph = opened.graph()
    saved = Counter((one.type.dtype, tuple(one.type.shape)) for node in graph.nodes for one in node.saved)
    assert saved == packed
    assert kept(graph) <= sum(memory.values())
    assert held.grad_fn is not None


@pytest.mark.parametrize("seed", range(30))
def test_gradients_are_those_that_nodes_received(seed: int, tmp_path: Path) -> None:
    log: list[Gradient] = []
    with recording(tmp_path, "full") as path:
        total = loss(seed, OPERATIONS)
        for node in nodes_of(total.grad_fn):
            node.register_prehook(noted(log, node.name().removeprefix("torch::autograd::")))
        total.backward()
    with gradscope.load(path) as opened:
        graph, statistics = opened.graph(), opened.gradients(0)
        runs = sorted(opened.node_runs(0), key=lambda run: run.position)
    assert [graph.nodes[run.node].name.removeprefix("torch::autograd::") for run in runs] == [name for name, _ in log]
    for run, (name, norms) in zip(runs, log, strict=True):
        seen = received(statistics, run.node, len(norms))
        assert [one is None for one in seen] == [one is None for one in norms], name
        assert [one or 0.0 for one in seen] == pytest.approx([one or 0.0 for one in norms], rel=1e-5), name
