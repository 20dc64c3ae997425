"""A backward that raised: the order ends where torch's did, or it is said not to be known."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.engine.change import with_priorities
from gradscope.engine.compare import measured_order
from gradscope.engine.order import predict
from gradscope.engine.replay import moments
from gradscope.model.graph import Graph
from gradscope.view.ordered import ordered
from tests.engine.programs import OPERATIONS, random_tensors
from tests.probes.against import recording
from tests.torch_versions import needs_saved_tensors


def fail(*arguments: Any) -> None:
    raise ValueError("on purpose")


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> None:
        fail()


def chain(hang: Callable[[Any], Any]) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    hang(y)
    y.exp().sum().backward()


def in_a_function() -> None:
    x = torch.ones(3, requires_grad=True)
    Fails.apply(x.sin()).exp().sum().backward()


def on_an_edited_tensor() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    z = y.exp().mul(y).tanh()
    y.add_(1)
    z.sum().backward()


def a_second_time() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    y.exp().sum().backward()
    y.add(1).tanh().sum().backward()


RAISING: dict[str, tuple[Callable[[], None], str]] = {
    "tensor hook": (lambda: chain(lambda y: y.register_hook(fail)), "SinBackward0"),
    "node pre-hook": (lambda: chain(lambda y: y.grad_fn.register_prehook(fail)), "SinBackward0"),
    "node hook": (lambda: chain(lambda y: y.grad_fn.register_hook(fail)), "SinBackward0"),
    "function": (in_a_function, "FailsBackward"),
    "edit in place": (on_an_edited_tensor, "MulBackward0"),
    "second time": (a_second_time, "SinBackward0"),
}


def last(path: Path) -> Graph:
    with gradscope.load(path) as opened:
        return opened.graph()


@needs_saved_tensors
@pytest.mark.parametrize("name", RAISING)
def test_the_predicted_order_ends_where_the_measured_does(name: str, tmp_path: Path) -> None:
    program, where = RAISING[name]
    graphs = []
    for detail in ("ops", "full"):
        (tmp_path / detail).mkdir()
        with recording(tmp_path / detail, detail) as path, pytest.raises((ValueError, RuntimeError)):
            program()
        graphs.append(last(path))
    predicted, measured = graphs
    for graph in graphs:
        assert graph.backward.stopped is not None
        assert graph.nodes[graph.backward.stopped].name == where
    assert predict(predicted).order == measured_order(measured)
    assert predict(predicted).exact


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_end_where_a_hook_raised(seed: int, tmp_path: Path) -> None:
    graphs = []
    for detail in ("nodes", "full"):
        choose = random.Random(seed)
        (tmp_path / detail).mkdir()
        with recording(tmp_path / detail, detail) as path:
            pool = random_tensors(choose, OPERATIONS, 12)
            outputs = [tensor.sum() for tensor in pool[-2:]]
            choose.choice(pool[-4:]).register_hook(fail)
            with contextlib.suppress(ValueError):
                torch.autograd.backward(outputs)
        graphs.append(last(path))
    predicted, measured = graphs
    assert (predicted.backward.exception is None) == (predicted.backward.stopped is None)
    assert predict(predicted).order == measured_order(measured)


def test_the_node_that_stopped_it_is_marked_and_sends_nothing(tmp_path: Path) -> None:
    with recording(tmp_path) as path, pytest.raises(ValueError, match="on purpose"):
        in_a_function()
    graph = last(path)
    assert [node.name for node in ordered(graph).nodes if node.raised] == ["FailsBackward"]
    end = list(moments(graph, predict(graph)))[-1]
    assert (end.stopped, end.position, end.sent) == (True, 2, ())


def test_a_hook_before_it_leaves_the_node_without_a_place(tmp_path: Path) -> None:
    with recording(tmp_path) as path, pytest.raises(ValueError, match="on purpose"):
        chain(lambda y: y.register_hook(fail))
    graph = last(path)
    end = list(moments(graph, predict(graph)))[-1]
    assert (end.stopped, end.position, graph.nodes[end.node].name) == (True, None, "SinBackward0")
    assert [node.order for node in ordered(graph).nodes] == [0, 1, None, None]


def test_where_nobody_knows_the_order_is_not_exact(tmp_path: Path) -> None:
    with recording(tmp_path) as path, pytest.raises(ValueError, match="on purpose"):
        chain(lambda y: y.register_hook(fail))
    graph = last(path)
    unknown = replace(graph, backward=replace(graph.backward, stopped=None))
    assert not predict(unknown).exact


def test_what_would_have_been_runs_to_its_end(tmp_path: Path) -> None:
    with recording(tmp_path) as path, pytest.raises(ValueError, match="on purpose"):
        chain(lambda y: y.register_hook(fail))
    assert predict(with_priorities(last(path), {0: 99})).order == (0, 1, 2, 3)


def test_equal_leaves_around_a_nested_backward_leave_the_order_open(tmp_path: Path) -> None:
    outer = [torch.ones(2, requires_grad=True) for _ in range(6)]
    inner = [torch.ones(2, requires_grad=True) for _ in range(5)]
    outer[2].register_post_accumulate_grad_hook(torch.enable_grad()(lambda leaf: torch.cat(inner).sum().backward()))
    with recording(tmp_path) as path:
        torch.cat(outer).sum().backward()
        torch.cat(outer[:2]).sum().backward()
    with gradscope.load(path) as opened:
        assert [predict(opened.graph(number)).exact for number in range(3)] == [False, False, True]
