"""What an armed program pays while nobody asks: counted, because a busy machine does not disturb that."""

import itertools
import sys
from pathlib import Path

import torch

import gradscope
from gradscope.arming.armed import Armed
from gradscope.capture import Recorder
from gradscope.model.request import RecordRequest

HERE = str(Path(gradscope.__file__).parent)


def step(weight):
    (weight * 2).square().sum().backward()


def calls_in(steps):
    """The functions of Python that run in some steps, and the file of each."""
    weight, found = torch.ones(3, requires_grad=True), []
    step(weight)  # the first one begins to listen

    def note(frame, event, argument):
        if event == "call":
            found.append((frame.f_code.co_filename, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        for _ in itertools.repeat(None, steps):
            step(weight)
    finally:
        sys.setprofile(None)
    return found


def test_a_step_calls_one_function_more(tmp_path):
    plain = calls_in(10)
    armed = Armed(Recorder, tmp_path / "run.gscope", RecordRequest())
    armed.start()
    try:
        found = calls_in(10)
    finally:
        armed.stop()
    ours = [name for file, name in found if file.startswith(HERE)]
    assert ours == ["getEffectiveLevel"] * 10
    assert len(found) == len(plain) + 10


def test_what_was_armed_leaves_nothing_behind(tmp_path):
    plain = calls_in(10)
    armed = Armed(Recorder, tmp_path / "run.gscope", RecordRequest())
    armed.start()
    step(torch.ones(3, requires_grad=True))
    armed.stop()
    assert calls_in(10) == plain
