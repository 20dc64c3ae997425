"""Findings of a recording that begins in the middle of a run say which step of the run a backward was."""

import torch

from gradscope.anomaly import explain
from gradscope.capture import Recorder
from gradscope.store.reader import load


def messages(path, **options):
    weight = torch.zeros(3, requires_grad=True)
    recorder = Recorder(path, **options)
    recorder.start()
    for _ in range(3):
        weight.grad = None
        (weight * 0.5).sqrt().sum().backward()
    recorder.stop()
    with load(path) as recording:
        return [one.message for one in explain(recording).findings]


def test_the_step_of_the_run_is_behind_the_number_of_the_call(tmp_path):
    (message,) = messages(tmp_path / "run.gscope", steps_before=3000)
    assert "in backward 0 (step 3,000)" in message


def test_a_recording_of_the_run_from_its_beginning_needs_none(tmp_path):
    (message,) = messages(tmp_path / "run.gscope")
    assert "in backward 0" in message
    assert "(step" not in message
