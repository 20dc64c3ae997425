"""The order and the operators of backward calls whose nodes are on a device, on the host, or on both."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.engine.compare import differences, measured_order
from gradscope.engine.order import predict
from gradscope.store.reader import load
from tests.cuda import needs_device
from tests.probes.test_engine_threads import Ran, Witness, ran

pytestmark = needs_device
ONE, TWO = (torch.sin, torch.tanh, torch.exp, torch.sigmoid), (torch.add, torch.mul, torch.maximum)


def roots(choose: random.Random, devices: tuple[str, ...], count: int) -> list[torch.Tensor]:
    """Results of a random graph over leaves of these devices."""
    pool = [torch.ones(3, device=choose.choice(devices), requires_grad=True) for _ in range(4)]
    for _ in range(25):
        left, right = choose.choice(pool), choose.choice(pool)
        to = choose.choice(devices)
        made = choose.choice(ONE)(left) if choose.random() < 0.4 else choose.choice(TWO)(left.to(to), right.to(to))
        pool.append(made)
    return pool[-count:]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("devices", [("cuda",), ("cpu", "cuda")], ids="+".join)
def test_random_graphs_run_as_predicted(seed: int, devices: tuple[str, ...], tmp_path: Path) -> None:
    choose = random.Random(f"{seed} {devices}")
    count = choose.choice([1, 1, 3])
    outputs = roots(choose, devices, count)
    with gradscope.record(tmp_path / "run.gscope", detail="full"):
        torch.autograd.backward(outputs, [torch.ones_like(one) for one in outputs])
    with load(str(tmp_path / "run.gscope")) as recording:
        assert recording.faults() == ()
        (call,) = recording.backwards()
        graph = recording.graph(call.number)
        assert measured_order(graph) is not None
        assert differences(graph) == ()
        if devices == ("cuda",) and count == 1:
            assert predict(graph).exact
            assert {node.device for node in graph.nodes} == {"cuda:0"}


def ladder() -> None:
    """A loss over both devices, with operators of ours in hooks."""
    x = torch.ones(4, device="cuda", requires_grad=True)
    w = torch.ones(4, requires_grad=True)
    for _ in range(3):
        hidden = (x * w.cuda()).exp()
        hidden.register_hook(lambda gradient: gradient * 2)
        (hidden.cpu().sin().sum() + hidden.tanh().sum().cpu()).backward()


def beside_another_thread() -> None:
    """A backward whose operators all run in the thread of the device."""
    x = torch.ones(4, device="cuda", requires_grad=True)
    for _ in range(3):
        (x.exp() * x).sin().sum().backward()


def by_name(calls: list[list[Ran]]) -> list[list[Ran]]:
    """What ran in each call, whatever the order: two threads work at once."""
    return [sorted(one, key=str) for one in calls]


@pytest.mark.parametrize("detail", ["ops", "full"])
@pytest.mark.parametrize("function", [ladder, beside_another_thread])
def test_operators_are_in_the_nodes_that_torch_says(function: Callable[[], None], detail: str, tmp_path: Path) -> None:
    witness = Witness()
    with gradscope.record(tmp_path / "run.gscope", detail=detail), witness:
        function()
    with load(str(tmp_path / "run.gscope")) as recording:
        assert recording.faults() == ()
        assert by_name(ran(recording)) == by_name(witness.in_order())
