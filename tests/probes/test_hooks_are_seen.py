"""Recorded registrations and firings equal what the hooks themselves saw."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.graph import register_multi_grad_hook

import gradscope
from gradscope.model.graph import Graph
from gradscope.model.site import user_site
from tests.engine.programs import OPERATIONS, random_tensors
from tests.probes.against import recording

Seen = list[str]


def graph_of(path: Path, number: int | None = None) -> Graph:
    with gradscope.load(path) as recorded:
        return recorded.graph(number)


def named(name: str, seen: Seen, answer: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A hook that notes its name."""

    def hook(*arguments: Any) -> Any:
        seen.append(name)
        return None if answer is None else answer(*arguments)

    hook.__qualname__ = name
    return hook


def fired(graph: Graph) -> list[str]:
    return [firing.hook.name for firing in graph.firings]


@pytest.mark.parametrize("seed", range(40))
def test_random_hooks_fire_in_the_recorded_order(seed: int, tmp_path: Path) -> None:
    torch.manual_seed(seed)
    choose, seen = random.Random(seed), list[str]()
    with recording(tmp_path, choose.choice(["nodes", "ops", "full"])) as path:
        pool = random_tensors(choose, OPERATIONS, 15)
        for number, tensor in enumerate(choose.sample(pool, 10)):
            register_one(choose.randrange(5), f"hook{number}", tensor, seen)
        outputs = [tensor.sum() for tensor in choose.sample(pool[4:], 2)]
        torch.autograd.backward(outputs, inputs=choose.choice([None, pool[:2]]))
    assert fired(graph_of(path)) == seen


def register_one(kind: int, name: str, tensor: torch.Tensor, seen: Seen) -> None:
    if kind == 0 and tensor.is_leaf:
        tensor.register_post_accumulate_grad_hook(named(name, seen))
    elif kind == 1 and tensor.grad_fn is not None:
        tensor.grad_fn.register_hook(named(name, seen))
    elif kind == 2 and tensor.grad_fn is not None:
        tensor.grad_fn.register_prehook(named(name, seen))
    else:
        tensor.register_hook(named(name, seen, (lambda grad: grad * 2) if kind == 3 else None))


def test_every_kind_of_hook_is_told_apart(tmp_path: Path) -> None:
    seen = list[str]()
    with recording(tmp_path) as path:
        model = nn.Linear(2, 2)
        model.register_full_backward_hook(named("module", seen))
        model.register_full_backward_pre_hook(named("module pre", seen))
        model.weight.register_post_accumulate_grad_hook(named("accumulated", seen))
        output = model(torch.randn(3, 2, requires_grad=True))
        output.register_hook(named("tensor", seen))
        output.retain_grad()
        total = output.sum()
        assert total.grad_fn is not None
        total.grad_fn.register_prehook(named("node pre", seen))
        total.grad_fn.register_hook(named("node post", seen))
        total.backward()
    graph = graph_of(path)
    assert fired(graph) == seen == ["node pre", "node post", "tensor", "module pre", "accumulated", "module"]
    assert [firing.hook.kind for firing in graph.firings] == [
        "node_pre", "node_post", "tensor", "module_backward_pre", "post_accumulate", "module_backward",
    ]  # fmt: skip
    with gradscope.load(path) as recorded:
        assert "retain_grad" in {hook.kind for hook in recorded.hooks()}


def test_a_hook_names_the_line_that_registered_it(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        x = torch.randn(3, requires_grad=True)
        x.register_hook(named("mine", []))  # here
        (x * 2).sum().backward()
    (firing,) = graph_of(path).firings
    site = user_site(firing.hook.stack)
    assert site is not None
    assert "# here" in (site.source or "")


@pytest.mark.parametrize(
    ("answer", "changed"),
    [
        (None, False),
        (lambda grad: grad * 2, True),
        (lambda grad: grad, False),
        (lambda grad: grad.mul_(2) and None, True),
    ],
    ids=["nothing", "another tensor", "the same tensor", "in place"],
)
def test_whether_a_hook_changed_the_gradient(answer: Any, changed: bool, tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        x = torch.randn(1, requires_grad=True)
        y = x * 2
        y.register_hook(named("hook", [], answer))
        y.sin().backward()
    assert [firing.changed for firing in graph_of(path).firings] == [changed]


def test_multi_grad_hooks_are_one_kind(tmp_path: Path) -> None:
    seen = list[str]()
    with recording(tmp_path) as path:
        x, y = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
        register_multi_grad_hook((x, y), named("both", seen))
        (x * y).sum().backward()
    assert {firing.hook.kind for firing in graph_of(path).firings} == {"multi_grad"}
    assert seen == ["both"]


def test_a_hook_from_before_an_in_place_edit_stays_on_the_old_node(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        x = torch.randn(3, requires_grad=True)
        y = x + 1
        y.register_hook(named("old", []))
        y.mul_(2)
        y.sum().backward()
    graph = graph_of(path)
    (firing,) = graph.firings
    assert firing.node is not None
    assert graph.nodes[firing.node].name == "AddBackward0"


def test_hooks_are_listed_on_their_nodes(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        x = torch.randn(3, requires_grad=True)
        x.register_hook(named("on a leaf", []))
        y = x.sin()
        assert y.grad_fn is not None
        y.grad_fn.register_hook(named("on a node", []))
        y.sum().backward()
    held = {node.name: [hook.name for hook in node.hooks] for node in graph_of(path).nodes if node.hooks}
    assert held == {"torch::autograd::AccumulateGrad": ["on a leaf"], "SinBackward0": ["on a node"]}


def test_the_scripts_dicts_are_as_before(tmp_path: Path) -> None:
    with recording(tmp_path):
        x = torch.randn(3, requires_grad=True)
        handles = [x.register_hook(named(str(number), [])) for number in range(3)]
        before = dict(x._backward_hooks or {})
        (x * 2).sum().backward()
        assert list((x._backward_hooks or {}).items()) == list(before.items())
        handles[1].remove()
        assert len(x._backward_hooks or {}) == 2


def test_an_exception_in_a_hook_is_the_scripts(tmp_path: Path) -> None:
    def broken(grad: torch.Tensor) -> None:
        raise ValueError("mine")

    with recording(tmp_path) as path:
        x = torch.randn(3, requires_grad=True)
        x.register_hook(broken)
        with pytest.raises(ValueError, match="mine") as caught:
            (x * 2).sum().backward()
    frames = [entry.frame.code.name for entry in caught.traceback]
    assert frames[-1] == "broken"
    assert "observe" not in frames
    with gradscope.load(path) as recorded:
        assert recorded.backwards()[0].exception == "ValueError: mine"
