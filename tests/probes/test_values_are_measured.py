"""`--detail full` measures the order, the times and the gradients that a node's own hooks see."""

from __future__ import annotations

import random
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.model.graph import OrderSource
from gradscope.probes.graph.walk import discover
from gradscope.probes.tensors.statistics import statistics_of
from gradscope.view.ordered import ordered
from tests.engine.live import live_graph, observing
from tests.engine.programs import OPERATIONS, random_tensors
from tests.probes.against import assert_same, live_nodes, recording

CHANGES = [
    lambda gradient: None,
    lambda gradient: gradient * 2,
    lambda gradient: None if 0 in gradient.stride() else gradient.mul_(3),
]


@pytest.mark.parametrize("detail", ["ops", "full"])
@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_the_engines(seed: int, detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        torch.manual_seed(seed)
        pool = random_tensors(random.Random(seed), OPERATIONS, 20)
        output = pool[-1].sum()
        live, (names, roots) = live_graph([output]), live_nodes([output])
        with observing(live) as observed:
            output.backward()
    with gradscope.load(path) as recorded:
        graph = ordered(recorded.graph())
    assert graph.backward.order_source is (OrderSource.MEASURED if detail == "full" else OrderSource.PREDICTED)
    pairs = assert_same(graph, names, roots)
    ran = sorted((node for node in graph.nodes if node.order is not None), key=lambda node: node.order or 0)
    real = [live.graph.nodes[number] for number in observed.order]
    assert [(node.name, node.seq_nr) for node in ran] == [(node.name, node.seq_nr) for node in real]
    assert len(pairs) == len(graph.nodes)


def test_gradient_statistics(tmp_path: Path) -> None:
    with recording(tmp_path, "full") as path:
        x = torch.tensor([3.0, 4.0, 0.0, 0.0], requires_grad=True)
        (x * x).sum().backward()
    with gradscope.load(path) as recorded:
        graph = recorded.graph()
        leaf = next(node for node in graph.nodes if node.accumulates)
        (received,) = [one for one in recorded.gradients(0) if one.node == leaf.id and one.side == "in"]
    assert (received.norm, received.max, received.zero_share, received.nan, received.inf) == (10.0, 8.0, 0.5, 0, 0)


def test_nan_and_inf_are_counted_apart(tmp_path: Path) -> None:
    with recording(tmp_path, "full") as path:
        x = torch.zeros(3, requires_grad=True)
        (x.sqrt() * torch.tensor([0.0, 1.0, 1.0])).sum().backward()
    with gradscope.load(path) as recorded:
        leaf = next(node for node in recorded.graph().nodes if node.accumulates)
        (received,) = [one for one in recorded.gradients(0) if one.node == leaf.id and one.side == "in"]
    assert (received.nan, received.inf) == (1, 2)


def test_every_run_has_a_time(tmp_path: Path) -> None:
    with recording(tmp_path, "full") as path:
        torch.randn(3, requires_grad=True).sin().sum().backward()
    with gradscope.load(path) as recorded:
        runs = recorded.node_runs(0)
        backward = recorded.backwards()[0]
    assert [run.node for run in runs] == [0, 1, 2]
    assert all(run.duration >= 0 for run in runs)
    assert backward.duration is not None
    assert sum(run.duration for run in runs) <= backward.duration


def test_operators_inside_a_backward_know_their_node(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        torch.randn(3, requires_grad=True).sin().sum().backward()
    with gradscope.load(path) as recorded:
        names = [node.name for node in recorded.graph().nodes]
        inside = [
            (operation.name, names[operation.node])
            for block in recorded.blocks()
            if block.backward == 0
            for operation in block.operations
            if operation.node is not None
        ]
    assert ("aten.cos.default", "SinBackward0") in inside
    assert ("aten.expand.default", "SumBackward0") in inside


def test_in_place_writes_and_versions(tmp_path: Path) -> None:
    def step(weight: torch.Tensor) -> None:
        with torch.no_grad():
            weight.add_(1).mul_(2)

    with recording(tmp_path) as path:
        weight = torch.zeros(2, requires_grad=True)
        step(weight)
    with gradscope.load(path) as recorded:
        operations: list[Any] = [operation for block in recorded.blocks() for operation in block.operations]
    writes = [(one.name, one.writes[0].version, one.writes[0].argument) for one in operations if one.writes]
    assert writes == [("aten.add_.Tensor", 0, "self"), ("aten.mul_.Tensor", 1, "self")]
    assert {operation.site.function for operation in operations if operation.writes} == {"step"}


def test_a_step_that_repeats_is_stored_once_and_keeps_its_versions(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        weight = torch.zeros(2, requires_grad=True)
        for _ in range(4):
            weight.sin().sum().backward()
            with torch.no_grad():
                weight.add_(1)
    with gradscope.load(path) as recorded:
        blocks = list(recorded.blocks())
        assert recorded.census().graphs == 1
    writes = [(block, write) for block in blocks for one in block.operations for write in one.writes if write.leaf]
    versions = [block.version_before(write) for block, write in writes]
    assert versions == [0, 1, 2, 3]
    assert sqlite3.connect(path).execute("SELECT count(*) FROM block").fetchone() == (
        5,
    )  # of 9: the first step and the end differ


@pytest.mark.parametrize("seed", range(6))
def test_each_gradient_is_measured_as_the_node_sees_it(seed: int, tmp_path: Path) -> None:
    seen: dict[tuple[int, str, int], float] = {}

    def look(number: int, side: str, gradients: tuple[torch.Tensor | None, ...]) -> None:
        seen.update({(number, side, at): one.norm().item() for at, one in enumerate(gradients) if one is not None})

    with recording(tmp_path, "full") as path:
        torch.manual_seed(seed)
        pool = random_tensors(random.Random(seed), OPERATIONS, 20)
        for tensor, change in zip([one for one in pool if one.requires_grad], CHANGES * 20, strict=False):
            tensor.register_hook(change)
        output = pool[-1].sum()
        for number, node in enumerate(discover([output.grad_fn])[0]):
            node.register_prehook(partial(look, number, "in"))
            node.register_hook(lambda passed, received, number=number: look(number, "out", passed))
        output.backward()
    with gradscope.load(path) as recorded:
        measured = {(one.node, one.side, one.index): one.norm for one in recorded.gradients(0)}
    assert measured == pytest.approx(seen, rel=1e-5, nan_ok=True)


def test_zeros_are_counted_in_gradients_of_any_size_and_layout() -> None:
    for shape in ((3,), (40_000,), (131_072,), (131_073,), (512, 600)):
        values = torch.randn(shape)
        values.view(-1)[::7] = 0
        share = (values == 0).double().mean().item()
        for gradient in (values, values.t(), values.double()):
            found = statistics_of(gradient)
            assert found is not None
            assert found[2] == pytest.approx(share, rel=1e-12)


def test_steps_that_repeat_add_only_numbers(tmp_path: Path) -> None:
    with recording(tmp_path, "full") as path:
        weight = torch.ones(2, requires_grad=True)
        for _ in range(5):
            weight.sin().sum().backward()
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM layout").fetchone() == (1,)
        assert file.execute("SELECT count(*) FROM measurement").fetchone() == (5,)
