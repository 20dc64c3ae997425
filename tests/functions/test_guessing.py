"""Inputs are guessed by what the source says, not by names alone."""

import inspect

import pytest
import torch

from gradscope.functions.check import check_function
from gradscope.functions.inputs.call_sites import NO_TENSOR, UNKNOWN, call_sites
from gradscope.functions.inputs.clues import Kind, clues_of
from gradscope.functions.inputs.guess import guess, places_that_sum
from gradscope.functions.loading import module_from_path
from gradscope.functions.subject import read
from gradscope.model.finding import Severity
from tests.functions.cases import published

OPS = """
import torch

SCALE = 4.0

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sigma, mode, where, shift):
        ctx.sigma = sigma
        return x * sigma

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.sigma, None, None, None, None

class Layer:
    def __init__(self, sigma=0.75):
        self.sigma = sigma

    def call(self, x, mode="same"):
        return Scaled.apply(x, self.sigma, mode, (..., x), SCALE)
"""


@pytest.fixture
def called(tmp_path):
    (tmp_path / "guessed_ops.py").write_text(OPS)
    return read("guessed_ops.Scaled", module_from_path(tmp_path / "guessed_ops.py").Scaled, True)


def kinds(function):
    return [clue.kind for clue in clues_of(read("x.y", function, True))]


def test_what_forward_does_with_a_parameter_tells_its_kind():
    assert kinds(published.Picked) == [Kind.TENSOR, Kind.INDEX, Kind.WHOLE, Kind.FLAG, Kind.CALLABLE]


def test_annotations_and_docstrings_tell_the_kind():
    assert kinds(published.Written) == [Kind.TENSOR, Kind.NUMBER, Kind.WHOLE]


def test_a_parameter_that_backward_gives_none_for_and_ctx_keeps_is_a_number():
    first, second = clues_of(read("x.y", published.Escape, True))
    assert (first.gradient, second.gradient, second.kind) == (True, False, Kind.NUMBER)


def test_what_a_helper_returns_is_not_known():
    assert clues_of(read("x.y", published.ByHelper, True))[1].gradient is None


def test_branches_give_their_values():
    assert clues_of(read("x.y", published.Branches, True))[1].values == ("sum", "mean")


def test_call_sites_give_literals_defaults_and_attributes(called):
    (site,) = call_sites(called)
    assert site.arguments == (UNKNOWN, 0.75, "same", NO_TENSOR, 4.0)


def test_the_report_names_the_call_sites(called):
    report = check_function(called.function, level="eager")
    assert "not checked" not in report.subjects[0].rests_on
    assert report.subjects[0].not_checked  # a tuple cannot be guessed


def test_tensors_that_get_no_gradient_do_not_require_one():
    sample = guess(read("x.y", published.Masked, True))[0]
    assert sample.differentiable == (0,)


def test_combinations_come_likeliest_first():
    assert list(places_that_sum(1, [2, 2])) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("name", ["Escape", "Iterations", "Bound", "SecondSample", "Eigenvalues"])
def test_right_functions_that_were_accused(name):
    report = check_function(getattr(published, name))
    assert not [f for f in report.findings if f.severity is Severity.ERROR]
    assert "GS401" not in {f.code for f in report.findings}


def test_a_classmethod_is_checked_as_torch_calls_it():
    report = check_function(published.Bound)
    assert report.subjects[0].rests_on.startswith("(float32[3, 4])")
    assert "GS108" not in {f.code for f in report.findings}


def test_a_wrong_second_derivative_is_told_behind_a_classmethod():
    assert "GS205" in {f.code for f in check_function(published.BoundSecondWrong).findings}


def test_what_one_sample_alone_shows_has_its_rule():
    report = check_function(published.SecondSample, [(torch.rand(3) + 0.1,), (torch.randn(3) - 2,)])
    assert "GS201" in {f.code for f in report.findings}
    assert "GS199" not in {f.code for f in report.findings}


def test_given_inputs_that_forward_refuses_are_to_blame():
    report = check_function(published.Picky, (torch.rand(3),))
    assert not report.findings or all(f.severity is Severity.INFO for f in report.findings)
    assert "does not take the inputs" in report.subjects[0].not_checked[0]


def test_a_function_of_torchs_own_autograd_package_is_read():
    from torch.autograd._functions.tensor import Resize

    assert read("torch.Resize", Resize, True).has("backward")
    assert inspect.isclass(Resize)
