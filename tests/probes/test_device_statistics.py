"""Statistics of gradients on a device are those that a host computes, and nobody waits but once."""

import math

import pytest
import torch

import gradscope
from gradscope.probes.tensors import device_statistics
from gradscope.probes.tensors.device_statistics import DeviceStatistics
from gradscope.probes.tensors.statistics import statistics_of
from gradscope.store.reader import load
from tests.accelerator import DEVICE, pretend

NAN, INF = math.nan, math.inf
GRADIENTS = {
    "plain": torch.randn(7, 9),
    "one element": torch.tensor(3.0),
    "zeros": torch.zeros(5),
    "some zeros": torch.randn(64).relu(),
    "transposed": torch.randn(6, 4).t(),
    "every other": torch.randn(20)[::2],
    "expanded": torch.randn(3, 1).expand(3, 5),
    "half": torch.randn(50).half() * 1000,
    "bfloat16": torch.randn(50).bfloat16(),
    "double": torch.randn(50).double(),
    "complex": torch.randn(10, dtype=torch.complex64),
    "NaN": torch.tensor([1.0, NAN, -2.0, 0.0, NAN]),
    "Inf": torch.tensor([INF, 1.0, -INF, 0.0]),
    "both": torch.tensor([INF, NAN, NAN, 4.0]),
    "nothing finite": torch.tensor([NAN, INF]),
    "squares overflow": torch.tensor([1e30, -2e30]),
    "tiny": torch.tensor([1e-25, 0.0]),
}


@pytest.fixture
def far(monkeypatch):
    pretend(monkeypatch.setattr)
    return DEVICE


def asked(*gradients):
    """What a device answers."""
    statistics, found = DeviceStatistics(), []
    assert all(statistics.ask(gradient, found.append) for gradient in gradients)
    assert found == []
    statistics.read()
    return found


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_they_are_those_of_the_host(gradient, far, monkeypatch):
    monkeypatch.setattr(device_statistics, "_STRETCH", 4)
    (found,) = asked(gradient)
    expected = statistics_of(gradient if gradient.is_complex() else gradient.double())
    assert found[:2] == pytest.approx(expected[:2], rel=1e-5)
    assert found[2:] == expected[2:]


def test_many_are_read_by_one_copy_of_each_kind(far):
    found = asked(*[torch.full((3,), float(one)) for one in range(50)], torch.ones(2, dtype=torch.float64))
    assert [one[1] for one in found] == [*range(50), 1.0]
    assert far.copies == 2


def test_nothing_is_asked_while_a_graph_is_captured(far):
    far.capturing = True
    assert not DeviceStatistics().ask(torch.ones(3), print)


def test_a_whole_backward_at_full_detail(far, tmp_path):
    weight = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope", detail="full"):
        weight.register_hook(lambda gradient: gradient * 2)
        weight.square().sum().backward()
    with load(str(tmp_path / "run.gscope")) as recording:
        assert recording.faults() == ()
        norms = [one.norm for one in recording.gradients(0)]
        assert max(norms) == pytest.approx(weight.grad.norm().item())
        (fired,) = recording.graph(0).firings
        assert fired.after == pytest.approx(2 * fired.before)
