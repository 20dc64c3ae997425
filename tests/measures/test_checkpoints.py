"""A non-reentrant checkpoint: its inputs are kept, and what it computes again is what the nodes save without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradscope
from gradscope.measures.memory import kept
from gradscope.measures.peak import peak
from gradscope.model.graph import Graph
from gradscope.view.ordered import ordered
from tests.probes.against import recording
from tests.torch_versions import needs_saved_tensors

pytestmark = needs_saved_tensors
Run = Callable[..., Any]


def plainly(function: Run, *arguments: Any, **options: Any) -> Any:
    return function(*arguments)


def block(layer: nn.Module) -> Run:
    return lambda x: layer(x).tanh().exp()


BLOCKS: dict[str, Callable[[nn.Module], Run]] = {
    "results": block,
    "arguments": lambda layer: lambda x: layer(layer(x).sin() * x.cos()),
    "shared": lambda layer: lambda x: layer(x).tanh().matmul(layer.weight).sin(),
    "an activation like a parameter": lambda layer: lambda x: (layer(x[:16]).exp() @ layer.weight).tanh(),
}


def graph_of(run: Run, folder: Path, block: Callable[[nn.Module], Run] = block, **options: Any) -> Graph:
    layer, x = nn.Linear(16, 16), torch.randn(100, 16, requires_grad=True)
    folder.mkdir()
    with recording(folder) as path:
        run(block(layer), x + torch.ones(16), use_reentrant=False, **options).sum().backward()
    with gradscope.load(path) as opened:
        return ordered(opened.graph())


@pytest.mark.parametrize("name", BLOCKS)
def test_its_input_is_kept_and_the_rest_computed_again(name: str, tmp_path: Path) -> None:
    plain, checked = (graph_of(run, tmp_path / run.__name__, BLOCKS[name]) for run in (plainly, checkpoint))
    again = sum(one.bytes for node in checked.nodes for one in node.again)
    assert kept(checked) == 100 * 16 * 4
    assert again == kept(plain) - kept(checked)


def test_the_peak_says_what_is_computed_again(tmp_path: Path) -> None:
    highest = peak(graph_of(checkpoint, tmp_path / "checked"))
    assert highest.again == 2 * 100 * 16 * 4
    assert highest.bytes == highest.saved + highest.gradients + highest.again


def test_without_torchs_check_nothing_is_known_of_it(tmp_path: Path) -> None:
    graph = graph_of(checkpoint, tmp_path / "checked", determinism_check="none")
    assert peak(graph).again == 0
    assert kept(graph) == 100 * 16 * 4


def test_data_given_to_a_checkpoint_is_an_input(tmp_path: Path) -> None:
    layer, data = nn.Linear(16, 16), torch.randn(100, 16)
    with recording(tmp_path, "ops") as path:
        checkpoint(block(layer), data, use_reentrant=False).sum().backward()
    with gradscope.load(path) as opened:
        saved = [one for node in opened.graph().nodes for one in node.saved]
    assert [(one.name, one.kind) for one in saved] == [("checkpoint's input 0", "input")]


@pytest.mark.parametrize("count", [1, 3])
def test_checkpoints_one_after_the_other_do_not_add_up(count: int, tmp_path: Path) -> None:
    layer, x = nn.Linear(16, 16), torch.randn(100, 16, requires_grad=True)
    with recording(tmp_path) as path:
        for _ in range(count):
            x = checkpoint(block(layer), x, use_reentrant=False)
        x.sum().backward()
    with gradscope.load(path) as opened:
        graph = ordered(opened.graph())
    assert peak(graph).again == 2 * 100 * 16 * 4
    assert len({one.checkpoint for node in graph.nodes for one in node.again}) == count
