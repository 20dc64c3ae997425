"""What a forward was given, what it computed and its parameters, against the saved tensors that torch itself shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gradscope
from gradscope.measures.memory import memory
from tests.torch_versions import needs_saved_tensors

Kinds = tuple[int, int, int]  # bytes of activations, inputs, parameters
Program = tuple[nn.Module, tuple[torch.Tensor, ...]]


class Cube(torch.autograd.Function):
    """Saves its input and what it computed with autograd off."""

    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        square = x * x
        ctx.save_for_backward(x, square)
        return square * x

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        _, square = ctx.saved_tensors
        return 3 * square * gradient


class Convolutions(nn.Module):
    """Buffers that a forward edits, frozen weights, indices and random masks."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 5, 3)
        self.second.requires_grad_(False)
        self.head = nn.Linear(5, 7)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.norm(self.first(images)).relu_(), 2)
        x = F.dropout(self.second(x), 0.3).mean((2, 3))
        return F.cross_entropy(self.head(Cube.apply(x)), labels)


class Words(nn.Module):
    """Tied weights, positions and a mask made in the forward, a buffer, a comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.norm, self.scale = nn.LayerNorm(8), nn.Linear(8, 8)
        self.register_buffer("weights", torch.linspace(1, 2, 8))

    def forward(self, words: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        x = self.norm(x) * self.weights
        scores = (x @ x.transpose(1, 2)).masked_fill(torch.ones(6, 6).triu(1) > 0, -1e9)
        x = x + scores.softmax(-1) @ checkpoint(self.scale, x, use_reentrant=False)
        x = torch.where(x > 0, x, -x)  # no number: what torch makes of one is saved, but goes through no pack hook
        return F.cross_entropy((x @ self.words.weight.t()).flatten(0, 1), labels.flatten())


def convolutions() -> Program:
    return Convolutions(), (torch.randn(2, 3, 9, 9), torch.tensor([1, 2]))


def words() -> Program:
    return Words(), (torch.randint(11, (2, 6)), torch.randint(11, (2, 6)))


def from_numbers() -> Program:
    """Data that no operator made."""
    data = torch.frombuffer(bytearray(256), dtype=torch.float32)
    return nn.Sequential(nn.Linear(64, 3), nn.LogSoftmax(-1)), (data,)


def by_torch(program: Callable[[], Program]) -> Kinds:
    model, data = program()
    given = {one.untyped_storage()._cdata for one in (*data, *model.buffers())}
    leaves = {one.untyped_storage()._cdata for one in model.parameters()}
    saved: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(*data).sum()
    del loss
    sizes = {storage: tensor.untyped_storage().nbytes() for storage, tensor in saved.items()}
    inputs = sum(size for storage, size in sizes.items() if storage in given)
    parameters = sum(size for storage, size in sizes.items() if storage in leaves)
    return sum(sizes.values()) - inputs - parameters, inputs, parameters


def by_gradscope(program: Callable[[], Program], path: Path, steps: int = 1, detail: str = "ops") -> list[Kinds]:
    with gradscope.record(path, detail=detail):
        model, data = program()
        for _ in range(steps):
            model(*data).sum().backward()
    with gradscope.load(path) as recording:
        tables = [
            memory(recording.graph(call.number), "op") for call in recording.backwards() if call.nested_in is None
        ]
    return [(total[1], total[3], total[4]) for table in tables if (total := table.total)]  # type: ignore[misc]


@needs_saved_tensors
@pytest.mark.parametrize("program", [convolutions, words, from_numbers])
def test_as_torch_saves_them(program: Callable[[], Program], tmp_path: Path) -> None:
    torch.manual_seed(0)
    expected = by_torch(program)
    assert by_gradscope(program, tmp_path / "a.gscope") == [expected]
    assert all(expected[:2])


def test_later_steps_say_the_same(tmp_path: Path) -> None:
    """When nobody looks at the operators any more."""
    first, *rest = by_gradscope(convolutions, tmp_path / "a.gscope", steps=20)
    assert rest == [first] * 19


@needs_saved_tensors
def test_without_operators_the_schemas_tell(tmp_path: Path) -> None:
    """At --detail nodes; but nothing tells there what an operator made out of autograd's sight."""
    expected = by_torch(from_numbers)
    assert by_gradscope(from_numbers, tmp_path / "a.gscope", detail="nodes") == [expected]


@needs_saved_tensors
def test_functions_without_modules(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "a.gscope"):
        data, weight = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
        result = data @ weight
        (result * (result > 0) * data.sum()).sum().backward()
    with gradscope.load(tmp_path / "a.gscope") as recording:
        kinds = [(node.op, one.name, one.kind) for node in recording.graph().nodes for one in node.saved]
    assert kinds == [
        ("aten.mul.Tensor", "other", "input"),  # the sum of the data alone
        ("aten.mul.Tensor", "other", "activation"),  # the comparison
        ("aten.mm.default", "self", "input"),
    ]
