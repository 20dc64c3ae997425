"""The recorded graph equals the graph walked from the live grad_fns, with a line of user code on every node."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradscope
from gradscope.model.graph import Graph
from gradscope.store.reader import Recording
from tests.engine.programs import OPERATIONS, random_tensors, reentrant
from tests.probes.against import LiveNode, assert_same, live_nodes, recording
from tests.torch_versions import needs_saved_tensors

Live = tuple[list[LiveNode], list[int]]


class Gate(nn.Module):
    """A module that is used several times."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return self.activation(self.linear(left)) * right


def in_functorch(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Differentiable through an outer level, with inner levels that end inside."""
    inner = torch.func.vmap(torch.func.grad(lambda row: (row.sin() * row).sum()))(left)
    return torch.as_tensor(inner) + right


def in_a_thread(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Built by a worker thread, whose sequence numbers start anew."""
    found: list[torch.Tensor] = []
    worker = threading.Thread(target=lambda: found.append((left * right).cos()))
    worker.start()
    worker.join()
    return found[0]


def random_program(seed: int) -> tuple[random.Random, list[torch.Tensor]]:
    """Random tensors made by every kind of operation."""
    torch.manual_seed(seed)
    choose = random.Random(seed)
    gate = Gate()
    kinds = (
        *OPERATIONS,
        gate,
        in_functorch,
        in_a_thread,
        lambda left, right: checkpoint(gate, left, right, use_reentrant=False),
    )
    return choose, random_tensors(choose, kinds, 25)


def called_by_the_test(recorded: Recording) -> list[int]:
    """The backward calls of the test itself, without those that torch.func makes inside an operation."""
    return [
        one.number for one in recorded.backwards() if one.site is not None and one.site.function.startswith("test_")
    ]


def assert_recorded(graph: Graph, live: Live) -> None:
    assert_same(graph, *live)
    for node in graph.nodes:
        assert node.site is not None, f"{node.name} has no line of user code"
        assert Path(node.site.file).suffix == ".py"


@pytest.mark.parametrize("seed", range(30))
def test_random_backwards(seed: int, tmp_path: Path) -> None:
    expected: list[Live] = []
    with recording(tmp_path, "nodes" if seed % 2 else "ops") as path:
        choose, pool = random_program(seed)
        for _ in range(2):
            outputs = [tensor.sum() for tensor in choose.sample(pool[6:], choose.choice([1, 2]))]
            expected.append(live_nodes(outputs))
            torch.autograd.backward(outputs, retain_graph=True)
    with gradscope.load(path) as recorded:
        for number, live in zip(called_by_the_test(recorded), expected, strict=True):
            assert_recorded(recorded.graph(number), live)


@pytest.mark.parametrize("seed", range(17))  # the largest programs are those of 8 and 16
def test_random_double_backwards(seed: int, tmp_path: Path) -> None:
    expected: list[Live] = []
    with recording(tmp_path) as path:
        _, pool = random_program(seed)
        output = pool[-1].sum()
        expected.append(live_nodes([output]))
        gradients = torch.autograd.grad(output, pool[:4], create_graph=True, allow_unused=True)
        second = sum((gradient.square().sum() for gradient in gradients if gradient is not None), start=pool[0].sum())
        assert isinstance(second, torch.Tensor)
        expected.append(live_nodes([second]))
        second.backward()
    with gradscope.load(path) as recorded:
        for number, live in zip(called_by_the_test(recorded), expected, strict=True):
            assert_recorded(recorded.graph(number), live)


def test_re_entrant_checkpoint_records_the_inner_backward(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        left = torch.randn(4, 4, requires_grad=True)
        output = reentrant(left * 2, left).sum()
        live = live_nodes([output])
        output.backward()
    with gradscope.load(path) as recorded:
        outer, inner = recorded.backwards()
        assert (outer.nested_in, inner.nested_in) == (None, outer.number)
        assert_recorded(recorded.graph(outer.number), live)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own, when functorch decomposes
def test_transforms_record_their_own_backwards(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        torch.func.hessian(lambda x: (x.sin() * x).sum())(torch.randn(3))
    with gradscope.load(path) as recorded:
        graphs = [recorded.graph(backward.number) for backward in recorded.backwards()]
        assert graphs
        levels = {str(level) for graph in graphs for node in graph.nodes for level in node.levels}
        assert {"Vmap:1", "Jvp:2", "Grad:3"} <= levels


def test_a_node_made_before_the_recording_is_recorded(tmp_path: Path) -> None:
    weight = torch.randn(3, requires_grad=True)
    before = weight * 2
    with recording(tmp_path) as path:
        output = before.sum()
        live = live_nodes([output])
        output.backward()
    with gradscope.load(path) as recorded:
        assert_same(recorded.graph(0), *live)


def test_freed_graphs_raise_torchs_own_words_and_are_recorded(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        output = torch.randn(3, requires_grad=True).exp().sum()
        output.backward()
        with pytest.raises(RuntimeError, match="second time"):
            output.backward()
    with gradscope.load(path) as recorded:
        first, second = recorded.backwards()
        assert first.exception is None
        assert second.exception is not None
        assert second.exception.startswith("RuntimeError: Trying to backward through the graph a second time")


def test_a_root_that_is_a_leaf(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        leaf = torch.ones((), requires_grad=True)
        leaf.backward()
    with gradscope.load(path) as recorded:
        (node,) = recorded.graph(0).nodes
        assert node.accumulates


@needs_saved_tensors
def test_saved_tensors_are_told_apart_and_shared(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        weight = torch.randn(3, 3, requires_grad=True)
        hidden = torch.randn(2, 3) @ weight
        (hidden.exp() * hidden).sum().backward()
    with gradscope.load(path) as recorded:
        graph = recorded.graph(0)
    by_name = {node.name: node for node in graph.nodes}
    product, exponent = by_name["MulBackward0"], by_name["ExpBackward0"]
    assert [saved.name for saved in product.saved] == ["other", "self"]
    assert product.saved[1].storage == exponent.saved[0].storage  # exp's result, kept by both
    assert product.saved[0].bytes == 24
    assert {node.leaf for node in graph.nodes if node.accumulates} <= {"leaf", "weight"}


class Cube(torch.autograd.Function):
    """A custom Function of the user."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


def test_a_custom_function_names_its_class_and_its_backward(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        Cube.apply(torch.randn(3, requires_grad=True)).sum().backward()
    with gradscope.load(path) as recorded:
        node = recorded.graph(0).nodes[1]
    assert node.name == "CubeBackward"
    assert node.function is not None
    assert node.function.name.endswith("Cube")
    source = Path(__file__).read_text().splitlines()
    assert node.function.class_site is not None
    assert source[node.function.class_site.line - 1].startswith("class Cube")
    assert node.function.backward_site is not None
    assert "def backward" in "".join(source[node.function.backward_site.line - 1 :][:2])


def test_parameters_have_their_qualified_names(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
        model(torch.randn(3, 2)).sum().backward()
    with gradscope.load(path) as recorded:
        leaves = {node.leaf for node in recorded.graph(0).nodes if node.accumulates}
    assert leaves == {name for name, _ in model.named_parameters()}


def test_a_node_belongs_to_its_module_call(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        activation = nn.Tanh()
        model = nn.Sequential(nn.Linear(2, 2), activation, nn.Linear(2, 2), activation)
        model(torch.randn(3, 2)).sum().backward()
    with gradscope.load(path) as recorded:
        calls = [node.module for node in recorded.graph(0).nodes if node.name == "TanhBackward0"]
    assert [call.label for call in calls if call is not None] == ["1(2)", "1(1)"]


def test_double_backward_nodes_know_the_forward_line(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        x = torch.randn(3, requires_grad=True)
        y = x.sin()  # the forward line
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        gradient.sum().backward()
    with gradscope.load(path) as recorded:
        derived = [node for node in recorded.graph(1).nodes if node.name == "CosBackward0"]
    assert derived[0].parent is not None
    assert derived[0].parent.name == "SinBackward0"
    assert derived[0].parent.site is not None
    assert "the forward line" in Path(__file__).read_text().splitlines()[derived[0].parent.site.line - 1]


def test_operators_name_the_op_of_each_node(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        base = torch.randn(4, requires_grad=True).clone()
        base[1:].mul_(2)
        base.sum().backward()
    with gradscope.load(path) as recorded:
        ops = {node.name: node.op for node in recorded.graph(0).nodes}
    assert ops["SumBackward0"] == "aten.sum.default"
    assert ops["torch::autograd::CopySlices"] == "aten.mul_.Tensor"
    assert ops["CloneBackward0"] == "aten.clone.default"


def test_two_models_with_the_same_parameter_names_are_told_apart(tmp_path: Path) -> None:
    class Generator(nn.Sequential):
        pass

    class Critic(nn.Sequential):
        pass

    with recording(tmp_path) as path:
        generator, critic = Generator(nn.Linear(2, 2)), Critic(nn.Linear(2, 2), nn.Linear(2, 1))
        critic(generator(torch.randn(3, 2))).sum().backward()
    with gradscope.load(path) as recorded:
        leaves = {node.leaf for node in recorded.graph(0).nodes if node.accumulates}
    assert leaves == {
        "Generator.0.weight",
        "Generator.0.bias",
        "Critic.0.weight",
        "Critic.0.bias",
        "1.weight",
        "1.bias",
    }


def test_a_module_that_runs_alone_first_keeps_its_name_inside(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        model[1](torch.randn(2))
        model(torch.randn(3, 2)).sum().backward()
    with gradscope.load(path) as recorded:
        call = recorded.graph(0).nodes[1].module
    assert call is not None
    assert (call.path, call.module_class) == ("1", "Tanh")
