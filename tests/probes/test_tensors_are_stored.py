"""What `--tensors` stores of a backward: its operator calls, and the bytes that they start from."""

from __future__ import annotations

import shutil
from array import array
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import gradscope
from gradscope.bounds import tensor_limit
from gradscope.capture import Recorder
from gradscope.errors import UsageError
from gradscope.model.dispatch import Phase, StoredBackward
from gradscope.model.tensor import TensorRole
from tests.torch_versions import needs_saved_tensors

FOUR = [1.0, 2.0, 3.0, 4.0]


def leaf() -> torch.Tensor:
    return torch.tensor(FOUR, requires_grad=True)


def stored(path: Path, backward: int = 0) -> StoredBackward:
    with gradscope.load(path) as recording:
        assert recording.faults() == ()
        return recording.stored(backward)


def floats(data: bytes) -> list[float]:
    return list(array("f", data))


@needs_saved_tensors
def test_saved_tensors_and_root_gradients_with_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    with gradscope.record(path, tensors=True):
        x = leaf()
        (x * x).backward(torch.full((4,), 7.0))
    with gradscope.load(path) as recording:
        found = recording.stored(0)
        values = {
            (tensor.role, tensor.node, tensor.position): floats(found.storages[tensor.storage])
            for tensor in recording.tensors(0)
        }
    assert values == {
        (TensorRole.ROOT_GRADIENT, 0, 0): [7.0] * 4,
        (TensorRole.SAVED, 0, 0): FOUR,
        (TensorRole.SAVED, 0, 1): FOUR,
    }


def test_nothing_without_the_option(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        leaf().sin().sum().backward()
    assert stored(tmp_path / "run.gscope") == StoredBackward()


def test_operators_say_whether_they_belong_to_hooks_to_the_node_or_to_sums(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        x = leaf()
        y = x.sin()
        y.register_hook(lambda gradient: gradient * 2)
        (y.exp() + y.neg()).sum().backward()
    found = [(call.operator, call.phase) for call in stored(tmp_path / "run.gscope").dispatches]
    assert ("aten.add.Tensor", Phase.AFTER) in found
    assert ("aten.mul.Tensor", Phase.BEFORE) in found
    assert ("aten.cos.default", Phase.INSIDE) in found


def test_bytes_are_those_before_the_first_write(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        x, other = leaf(), torch.zeros(4)
        y = x.sin()
        y.register_hook(lambda gradient: other.add_(1).mul_(0) + gradient)
        y.sum().backward()
    found = stored(tmp_path / "run.gscope")
    call = next(call for call in found.dispatches if call.operator == "aten.add_.Tensor")
    assert call.arguments is not None
    assert floats(found.storages[call.arguments[0].storage]) == [0.0] * 4


def test_a_dead_tensors_address_is_not_taken_for_it(tmp_path: Path) -> None:
    def many(gradient: torch.Tensor) -> torch.Tensor:
        for _ in range(50):
            gradient = gradient.clone()
        return gradient

    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        y = leaf().sin()
        y.register_hook(many)
        y.sum().backward()
    clones = [call for call in stored(tmp_path / "run.gscope").dispatches if call.operator == "aten.clone.default"]
    assert len({call.results.storage for call in clones}) == 50


def test_a_nested_backward_belongs_to_the_node_that_it_runs_in(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        checkpoint(torch.sin, leaf(), use_reentrant=True).sum().backward()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        names = {node.id: node.name for node in recording.graph(0).nodes}
    cosine = next(call for call in stored(tmp_path / "run.gscope").dispatches if call.operator == "aten.cos.default")
    assert names[cosine.node or 0] == "CheckpointFunctionBackward"
    assert stored(tmp_path / "run.gscope", 1) == StoredBackward()


def test_random_operators_come_with_the_state_of_their_generator(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        y = leaf().sin()
        y.register_hook(lambda gradient: torch.rand_like(gradient) * gradient)
        y.sum().backward()
    found = stored(tmp_path / "run.gscope")
    call = next(call for call in found.dispatches if call.operator == "aten.rand_like.default")
    assert call.generator is not None
    assert len(found.storages[call.generator]) == torch.get_rng_state().numel()


def test_a_call_on_what_is_not_plain_memory_is_marked(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        table = torch.nn.Embedding(4, 2, sparse=True)
        table(torch.tensor([1])).sum().backward()
    marked = [call for call in stored(tmp_path / "run.gscope").dispatches if call.arguments is None]
    assert marked


def test_batched_gradients_and_meta_tensors_do_no_harm(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        x = leaf()
        (gradient,) = torch.autograd.grad(x**2, x, torch.eye(4), is_grads_batched=True)
        torch.ones(2, device="meta", requires_grad=True).exp().sum().backward()
    assert gradient.diagonal().tolist() == [2.0, 4.0, 6.0, 8.0]
    assert len(stored(tmp_path / "run.gscope").dispatches) > 0
    assert stored(tmp_path / "run.gscope", 1).dispatches == ()


def test_beyond_the_limit_tensors_are_left_out_and_counted(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True, tensors_limit=20) as recording:
        x = leaf()
        (x * x).backward(torch.ones(4))
    assert recording.summary is not None
    assert recording.summary.dropped == {"tensors that --tensors had no room for": 1}
    assert len(stored(tmp_path / "run.gscope").storages) == 1
    assert x.grad is not None


def test_a_disk_that_is_nearly_full_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**9, 10**9 - 1000, 1000))
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        leaf().sin().sum().backward()
    assert stored(tmp_path / "run.gscope").storages == {}


def test_only_the_steps_asked_for_are_stored(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", tensors=True, keep_last=1):
        for _ in range(3):
            leaf().sin().sum().backward()
    assert stored(tmp_path / "run.gscope", 1).storages == {}
    assert stored(tmp_path / "run.gscope", 2).storages


def test_torch_is_left_as_it_was(tmp_path: Path) -> None:
    x = leaf()
    y = x.sin().sum()
    modes = torch._C._len_torch_dispatch_stack()
    with gradscope.record(tmp_path / "run.gscope", tensors=True):
        y.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="stop"):
            fail(x)
        assert torch._C._len_torch_dispatch_stack() == modes
    assert torch._C._len_torch_dispatch_stack() == modes


def fail(x: torch.Tensor) -> None:
    def stop(gradient: Any) -> None:
        raise RuntimeError("stop")

    y = x.exp()
    y.register_hook(stop)
    y.sum().backward()


@pytest.mark.parametrize(("text", "size"), [("500MB", 500 * 10**6), ("1.5 gb", 15 * 10**8), ("42", 42), (7, 7)])
def test_sizes(text: str | int, size: int) -> None:
    assert tensor_limit(text) == size


@pytest.mark.parametrize("text", ["much", "-1MB", "5 pieces", "", "1e9"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        tensor_limit(text)


def test_recorder_takes_bytes(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.gscope", tensors=0)
    recorder.start()
    leaf().sin().sum().backward()
    assert recorder.stop().dropped
