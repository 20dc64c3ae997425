"""The timeline is what really happened, retain_grad stands in its place, and silence has its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.measures.hooks import NotFired, Selection, fired_table, silent, timeline
from gradscope.model.graph import Graph
from gradscope.model.hook import Hook
from gradscope.view.ordered import ordered
from tests.probes.against import recording

Log = list[str]


def noting(log: Log, name: str, answer: Callable[..., Any] | None = None) -> Callable[..., Any]:
    def hook(*arguments: Any) -> Any:
        log.append(name)
        return None if answer is None else answer(*arguments)

    hook.__qualname__ = name
    return hook


def read(path: Path) -> tuple[Graph, tuple[Hook, ...]]:
    with gradscope.load(path) as opened:
        return ordered(opened.graph()), opened.hooks_at(opened.backwards()[-1].number)


def names(graph: Graph) -> Log:
    """The hooks of the timeline, those that stand by rule left out."""
    return [event.firing.hook.name for event in timeline(graph) if event.firing and not event.by_rule]


def every_kind(log: Log, **options: Any) -> None:
    """All kinds of hooks on a leaf, an inner tensor and a module, in one backward."""
    layer = nn.Linear(3, 3)
    x = torch.ones(2, 3, requires_grad=True)
    layer.register_full_backward_pre_hook(noting(log, "module_pre"))
    layer.register_full_backward_hook(noting(log, "module_post"))
    layer.weight.register_hook(noting(log, "weight_tensor", lambda gradient: gradient * 2))
    layer.weight.register_post_accumulate_grad_hook(noting(log, "weight_post"))
    y = layer(x * 1)
    y.retain_grad()
    y.register_hook(noting(log, "inner_tensor"))
    z = y.tanh()
    z.grad_fn.register_prehook(noting(log, "node_pre"))
    z.grad_fn.register_hook(noting(log, "node_post"))
    torch.autograd.graph.register_multi_grad_hook([y, z], noting(log, "multi"), mode="any")
    torch.autograd.backward(z.sum(), **options)


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")
@pytest.mark.parametrize("options", [{}, {"retain_graph": True}, {"create_graph": True}])
@pytest.mark.parametrize("detail", ["nodes", "full"])
def test_every_kind_fires_in_the_order_of_the_timeline(options: dict[str, Any], detail: str, tmp_path: Path) -> None:
    log: Log = []
    with recording(tmp_path, detail) as path:
        every_kind(log, **options)
    graph, _ = read(path)
    assert names(graph) == log
    assert "no" not in {row[-1] for row in fired_table(graph).rows}


def test_retain_grad_comes_after_tensor_hooks_and_before_node_hooks(tmp_path: Path) -> None:
    kept: list[bool] = []
    with recording(tmp_path) as path:
        y = torch.ones(2, requires_grad=True).exp()
        y.retain_grad()
        y.register_hook(lambda gradient: kept.append(y.grad is not None))
        y.grad_fn.register_prehook(lambda gradients: kept.append(y.grad is not None))
        y.sum().backward()
    assert kept == [False, True]
    graph, _ = read(path)
    kinds = [
        event.firing.hook.kind if event.firing else "node"
        for event in timeline(graph)
        if event.node and event.node.hooks
    ]
    assert kinds == ["tensor", "retain_grad", "node_pre", "node"]


def test_full_detail_measures_what_a_hook_did(tmp_path: Path) -> None:
    with recording(tmp_path, "full") as path:
        x = torch.ones(4, requires_grad=True)
        x.register_hook(lambda gradient: gradient * 3)
        x.sum().backward()
    (firing,) = read(path)[0].firings
    assert (firing.before, firing.after, firing.changed) == (2.0, 6.0, True)
    assert firing.seconds is not None


def test_below_full_nothing_is_measured(tmp_path: Path) -> None:
    with recording(tmp_path, "ops") as path:
        x = torch.ones(4, requires_grad=True)
        x.register_hook(lambda gradient: gradient * 3)
        x.sum().backward()
    (firing,) = read(path)[0].firings
    assert (firing.before, firing.after, firing.seconds) == (None, None, None)


def reasons(path: Path) -> dict[str, NotFired]:
    graph, registered = read(path)
    return {hook.name: why for hook, _, why in silent(graph, registered)}


def test_a_hook_off_the_path_says_so(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        side = w.exp()
        side.register_hook(noting([], "pruned"))
        torch.autograd.backward((x * side).sum(), inputs=[x])
    assert reasons(path) == {"pruned": NotFired.OFF_THE_PATH}


def test_a_captured_inputs_node_hook_says_so(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        y = torch.ones(2, requires_grad=True).exp()
        y.grad_fn.register_hook(noting([], "captured"))
        torch.autograd.grad(y.sum(), [y])
    assert reasons(path) == {"captured": NotFired.CAPTURED}


def test_at_a_captured_input_tensor_hooks_and_retain_grad_stand_in_their_place(tmp_path: Path) -> None:
    log: Log = []
    with recording(tmp_path) as path:
        y = torch.ones(2, requires_grad=True).exp()
        y.retain_grad()
        y.register_hook(noting(log, "retained too early", lambda gradient: y.grad))
        z = torch.ones(2, requires_grad=True).sin()
        z.grad_fn.register_prehook(noting(log, "later"))
        torch.autograd.grad((y * z.detach()).sum() + (y.detach() * z).sum(), [y, z])
    assert y.grad is not None
    graph, registered = read(path)
    assert [row[1] for row in fired_table(graph).rows] == ["tensor", "retain_grad", "captured"]
    assert {hook.name: why for hook, _, why in silent(graph, registered)} == {"later": NotFired.CAPTURED}


def test_an_in_place_edit_takes_retain_grad_along(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        y = torch.ones(2, requires_grad=True) * 2
        y.retain_grad()
        y.mul_(3)
        (y * 5).sum().backward()
    assert y.grad.tolist() == [5, 5]
    graph, _ = read(path)
    (event,) = [event for event in timeline(graph) if event.firing]
    assert event.node is not None
    assert event.node.id == next(edge.target for edge in graph.edges if graph.nodes[edge.source].order == 1)


def test_a_hook_of_another_graph_says_so(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        other = torch.ones(2, requires_grad=True).exp()
        other.register_hook(noting([], "elsewhere"))
        torch.ones(2, requires_grad=True).sum().backward()
    assert reasons(path) == {"elsewhere": NotFired.NOT_IN_THE_GRAPH}


def test_what_a_loop_registers_for_each_step_is_told_of_its_own_step_only(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        for _ in range(3):
            y = torch.ones(2, requires_grad=True).exp()
            y.register_hook(noting([], "each"))
            y.sum().backward()
    assert reasons(path) == {}


def test_a_hook_registered_before_an_in_place_edit_fires_at_the_old_node(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        y = torch.ones(2, requires_grad=True).exp().clone()
        y.register_hook(noting([], "old"))
        y.mul_(3)
        y.sum().backward()
    (event,) = [event for event in timeline(read(path)[0]) if event.firing]
    assert event.node is not None
    assert event.node.name == "CloneBackward0"


def test_a_selection_shows_only_what_is_asked_for(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        every_kind([])
    graph, _ = read(path)
    kinds = {row[1] for row in fired_table(graph, Selection(kinds=("post_accumulate",))).rows}
    assert kinds == {"post_accumulate", "node runs"}
    hooks = {row[3] for row in fired_table(graph, Selection(node="TanhBackward0")).rows if row[3]}
    assert hooks == {"node_pre", "node_post", "multi"}
