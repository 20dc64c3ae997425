"""From a recorded program to the inputs of check-function, end to end."""

import importlib
import json
import sys

import pytest
import torch
from click.testing import CliRunner

import gradscope
from gradscope.commands.check_function import command
from gradscope.errors import UnreadableError

MODULE = """
import torch

class Scale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

class Other(Scale):
    pass
"""


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A module of Functions, and what a program called them with."""
    (tmp_path / "scaling.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("scaling")
    with gradscope.record("run.gscope"):
        for columns in (5, 5, 7):
            module.Scale.apply(torch.randn(columns, 2, requires_grad=True).t(), 3.0).sum().backward()
    yield "run.gscope"
    del sys.modules["scaling"]


def run(*arguments):
    return CliRunner().invoke(command, [*arguments, "--level", "eager", "--fmt", "json", "-q"], standalone_mode=False)


def subjects(result):
    return {subject["function"]: subject for subject in json.loads(result.stdout)["subjects"]}


def test_recorded_kinds_of_calls_are_what_the_verdict_rests_on(recorded):
    result = run("scaling.Scale", "--from-trace", recorded)
    subject = subjects(result)["scaling.Scale"]
    assert result.return_value == 0
    assert subject["inputs"] == "recorded"
    assert subject["rests_on"] == "(float32[2, 5], 3.0); (float32[2, 7], 3.0)"


def test_functions_that_were_not_called_have_other_inputs(recorded):
    found = subjects(run("scaling", "--from-trace", recorded))
    assert (found["scaling.Scale"]["inputs"], found["scaling.Other"]["inputs"]) == ("recorded", "guessed")


def test_each_function_has_its_own_recorded_inputs(recorded):
    import scaling

    with gradscope.record("both.gscope"):
        scaling.Scale.apply(torch.randn(2, requires_grad=True), 2.0).sum().backward()
        scaling.Other.apply(torch.randn(9, requires_grad=True), 4.0).sum().backward()
    found = subjects(run("scaling.Scale", "scaling:Other", "--from-trace", "both.gscope"))
    assert found["scaling.Scale"]["rests_on"] == "(float32[2], 2.0)"
    assert found["scaling.Other"]["rests_on"] == "(float32[9], 4.0)"


def test_a_recording_without_the_function_is_refused(recorded):
    error = run("scaling.Other", "--from-trace", recorded).exception
    assert isinstance(error, UnreadableError)
    assert "holds no call of scaling.Other" in error.sentence
