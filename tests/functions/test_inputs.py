"""Inputs that are guessed, and inputs of the kinds that a recording saw."""

import json

import pytest
import torch

from gradscope.errors import UnreadableError, UsageError
from gradscope.functions.check import check_function
from gradscope.functions.inputs.guess import guess
from gradscope.functions.inputs.recorded import samples_from_calls
from gradscope.functions.inputs.sample import make_sample
from gradscope.functions.subject import read
from gradscope.model.finding import Severity
from gradscope.store.calls import read_calls
from tests.functions.corpus import base, realistic
from tests.functions.test_corpus import functions_of
from tests.recordings import Writer

HARD = {"Recompute"}  # its first argument is a block


@pytest.mark.parametrize("function", functions_of("realistic"), ids=lambda f: f.__name__)
def test_inputs_of_usual_functions_are_guessed(function):
    found = guess(read("x", function, True))
    assert found or function.__name__ in HARD


def test_two_guesses_differ_in_shape():
    first, second = guess(read("x", realistic.Swish, True))
    assert first.args[0].shape != second.args[0].shape


def test_inputs_that_require_grad_are_as_good_as_others():
    report = check_function(base.Square, (torch.rand(3, requires_grad=True),))
    assert [f.code for f in report.findings if f.severity is not Severity.INFO] == []


def test_a_fresh_copy_requires_grad_only_where_asked():
    sample = make_sample((torch.rand(3, requires_grad=True), torch.rand(3)))
    assert [copy.requires_grad for copy in sample.fresh()] == [True, False]
    assert [copy.requires_grad for copy in sample.fresh(grad=False)] == [False, False]


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "run.gscope"
    tensor = {"dtype": "float32", "shape": [3, 4], "strides": [1, 3], "requires_grad": True}
    rows = [
        ("mymod.Fn", [tensor, {"value": 2}]),
        ("mymod.Fn", [tensor, {"value": 2}]),
        ("mymod.Odd", [{}]),
        ("mymod.Bad", [{"dtype": "x", "shape": [1]}]),
    ]
    writer = Writer(path)
    for name, arguments in rows:
        writer.insert("function_call", name, json.dumps(arguments))
    writer.close()
    return path


def test_recorded_calls_become_samples(recording):
    (sample,) = samples_from_calls(read_calls(recording, "other.path:Fn"))
    assert sample.args[0].stride() == (1, 3)
    assert sample.args[0].requires_grad
    assert sample.args[1] == 2
    assert torch.isfinite(sample.args[0]).all()


def test_recordings_without_usable_calls_are_refused(recording, tmp_path):
    with pytest.raises(UnreadableError, match="no call of"):
        read_calls(recording, "mymod.Nope")
    with pytest.raises(UnreadableError, match="damaged"):
        read_calls(recording, "mymod.Bad")
    with pytest.raises(UsageError, match="no plain data"):
        samples_from_calls(read_calls(recording, "mymod.Odd"))
    (tmp_path / "noise").write_bytes(b"no database at all, but long enough to look like one")
    with pytest.raises(UnreadableError):
        read_calls(tmp_path / "noise", "mymod.Fn")
