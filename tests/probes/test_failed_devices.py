"""A device that has failed raises for whoever asks it: torch tells the program, and no fault of ours is noted."""

import pytest
import torch

import gradscope
from gradscope.probes.nonfinite.device_readback import Readback
from gradscope.store.reader import load
from tests.accelerator import pretend

pytestmark = pytest.mark.skipif(not hasattr(torch, "AcceleratorError"), reason="this torch has no class for it")


def test_it_is_not_asked_again(tmp_path, monkeypatch):
    pretend(monkeypatch.setattr)
    asked = []

    def fail(*arguments):
        asked.append(arguments)
        raise torch.AcceleratorError("CUDA error: device-side assert triggered", 710)

    monkeypatch.setattr(Readback, "measure", fail)
    with gradscope.record(tmp_path / "run.gscope"):
        for _ in range(3):
            torch.ones(3, requires_grad=True).exp().log().sum().backward()
    assert len(asked) == 1
    with load(str(tmp_path / "run.gscope")) as recording:
        assert recording.faults() == ()
