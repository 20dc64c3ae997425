"""Backwards that do more than run nodes are repeated whole: several roots in one place, hooks that go their way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.commands.replay import command
from gradscope.errors import NothingCheckedError
from gradscope.execution.execute import execute
from gradscope.model.execution import NodeStatus
from tests.execution.test_execute import recorded


def one_tensor_as_two_roots() -> None:
    y = torch.randn(3, requires_grad=True).sin()
    torch.autograd.backward([y, y], [torch.ones(3), torch.full((3,), 2.0)])


def one_gradient_for_two_roots() -> None:
    one = torch.ones(3)
    roots = [torch.randn(3, requires_grad=True).sin(), torch.randn(3, requires_grad=True).exp()]
    torch.autograd.backward(roots, [one, one])


def a_backward_in_a_hook() -> None:
    x, other = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    y = x.sin()
    y.register_hook(torch.enable_grad()(lambda gradient: (other * gradient.detach()).sum().backward()))
    y.exp().sum().backward()


def an_optimizer_in_a_hook() -> None:
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(parameter: torch.Tensor) -> None:
        optimizer.step()
        optimizer.zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    model(torch.randn(2, 3)).pow(2).sum().backward()


PROGRAMS = [one_tensor_as_two_roots, one_gradient_for_two_roots, a_backward_in_a_hook, an_optimizer_in_a_hook]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_node_is_equal(program: Callable[[], None], tmp_path: Path) -> None:
    graph, stored = recorded(tmp_path, program)
    found = execute(graph, stored)
    assert [outcome.status for outcome in found.outcomes] == [NodeStatus.EQUAL] * len(graph.nodes)


def hint(path: Path, number: int) -> Any:
    with pytest.raises(NothingCheckedError) as caught:
        command.main([str(path), "--execute", "--backward", str(number), "-q"], standalone_mode=False)
    return caught.value.hint


@pytest.mark.parametrize("tensors", [True, False])
def test_the_hint_names_the_call_that_holds_the_tensors_if_one_does(tensors: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    x = torch.randn(3, requires_grad=True)

    @torch.enable_grad()
    def innermost(gradient: torch.Tensor) -> None:
        x.exp().sum().backward()

    @torch.enable_grad()
    def inner(gradient: torch.Tensor) -> None:
        y = x.cos()
        y.register_hook(innermost)
        y.sum().backward()

    with gradscope.record(path, tensors=tensors):
        z = x.sin()
        z.register_hook(inner)
        z.sum().backward()
    assert ("backward 0" in hint(path, 2)) == tensors
    assert ("--tensors" in hint(path, 2)) != tensors
