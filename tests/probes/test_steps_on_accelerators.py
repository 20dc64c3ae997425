"""What an optimizer's step finds and changes is read from an accelerator as it is on a CPU, and later."""

import pytest
import torch

from gradscope.model.flow import GradientState
from tests.accelerator import DEVICE, pretend


def rounded_away():
    """Of two weights one has a gradient of zero, and no step changes the other."""
    weights = [torch.ones(4, requires_grad=True), torch.ones(3, requires_grad=True)]
    optimizer = torch.optim.SGD(weights, lr=1e-12)
    for _ in range(6):
        optimizer.zero_grad(set_to_none=False)
        (weights[0].sum() + 0 * weights[1].sum()).backward()
        optimizer.step()


def learned():
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()


def skipped_at_first():
    """A fused optimizer whose scaler has it leave out the first steps: in these nothing is to change."""
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    for _ in range(6):
        optimizer.zero_grad()
        scaler.scale(9 * weight.square().sum()).backward()
        scaler.step(optimizer)
        scaler.update()


def read(recorded, train):
    with recorded(train) as recording:
        assert recording.faults() == ()
        return recording.optimizer_looks(), recording.updates(), recording.leaf_gradients(), recording.scales()


@pytest.mark.parametrize("train", [rounded_away, learned, skipped_at_first])
def test_they_are_read_as_on_a_cpu(recorded, train, monkeypatch):
    seen = []
    for put in (None, monkeypatch.setattr):
        if put is not None:
            pretend(put)
        seen.append(read(recorded, train))
    assert seen[0] == seen[1]


def test_steps_that_a_scaler_skips_are_not_compared(recorded):
    with recorded(skipped_at_first) as recording:
        assert [one.count for one in recording.updates()] == [4, 5]
        assert {one.changed for one in recording.updates()} == {4}


def test_nothing_is_asked_while_a_graph_is_captured(recorded, monkeypatch):
    pretend(monkeypatch.setattr)
    DEVICE.capturing = True
    with recorded(rounded_away) as recording:
        assert recording.faults() == ()
        assert recording.updates() == ()
        assert DEVICE.copies == 0


def test_a_device_that_never_answers_leaves_what_was_known(recorded, monkeypatch):
    pretend(monkeypatch.setattr)
    monkeypatch.setattr("gradscope.probes.nonfinite.device_readback._LONGEST", 0.0)
    DEVICE.late = True
    with recorded(rounded_away) as recording:
        assert recording.updates() == ()
        assert {one.state for look in recording.optimizer_looks() for one in look.parameters} == {GradientState.VALUES}
