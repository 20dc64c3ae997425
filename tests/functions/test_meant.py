"""Gradients that differ from the formula's by design are told as one note; what only looks so is wrong."""

import pytest
import torch

from gradscope.functions.check import Settings, check, check_function
from gradscope.functions.meant import Design
from gradscope.model.declaration import Declaration
from gradscope.model.finding import Severity
from gradscope.model.report import Status
from tests.functions.cases import choices, published

MEANT = {
    published.Rounded: Design.STRAIGHT_THROUGH,
    published.HalfRounded: Design.STRAIGHT_THROUGH,
    published.Spike: Design.SURROGATE,
    published.LearnedStep: Design.SURROGATE,
    published.Reversed: Design.GIVEN_ON,
    published.Clipped: Design.GIVEN_ON,
    published.Centred: Design.GIVEN_ON,
    published.Eigenvalues: Design.SYMMETRIC,
    published.NullSpace: Design.GAUGE,
    published.Sampled: Design.SAMPLE,
}


def notes(report):
    return [f.message for f in report.findings if f.code == "GS422"]


@pytest.mark.parametrize(("function", "design"), MEANT.items(), ids=lambda value: getattr(value, "__name__", None))
def test_what_is_meant_is_one_note(function, design):
    report = check_function(function)
    assert notes(report) == [f"taken as meant: {design.value}"]
    assert not [f for f in report.findings if f.code in ("GS401", "GS418")]


@pytest.mark.parametrize("function", [published.Transposed, choices.Doubled])
def test_what_is_wrong_is_not_taken_as_meant(function):
    inputs = tuple(torch.randn(4, 4, generator=torch.Generator().manual_seed(number)) for number in range(2))
    report = check_function(function, inputs if function is published.Transposed else inputs[:1])
    assert notes(report) == []
    assert "GS401" in {f.code for f in report.at_least(Severity.ERROR)}


def test_a_gradient_that_is_another_elements_is_not_taken_as_meant():
    report = check_function(published.Shuffled, (torch.randn(5),))
    assert notes(report) == []
    assert "GS401" in {f.code for f in report.at_least(Severity.ERROR)}


def test_a_forward_that_rounds_a_number_is_no_surrogate():
    report = check_function(published.Windowed, (torch.randn(3, 4), 5))
    assert "GS401" in {f.code for f in report.at_least(Severity.ERROR)}


def test_it_can_be_declared_that_nothing_is_meant():
    declared = (Declaration("mymod.*", custom_gradient=False),)
    report = check([("mymod.Rounded", published.Rounded)], Settings(declarations=declared))
    assert "GS401" in {f.code for f in report.findings}


def test_symmetric_inputs_can_be_declared():
    declared = (Declaration("mymod.*", symmetric=(0,)),)
    report = check([("mymod.Eigenvalues", published.Eigenvalues)], Settings(declarations=declared))
    assert not [f for f in report.findings if f.code in ("GS401", "GS422")]


def test_writing_into_matrices_that_are_taken_as_symmetric_is_noticed_like_any_write():
    trials = check_function(published.Eigenvalues, (torch.randn(4, 4),)).subjects[0].trials
    assert trials["saved_inplace"].status is Status.OK


def test_a_backward_that_takes_no_nan_is_not_to_blame_for_it():
    report = check_function(published.EigenvaluesAgain)
    assert report.subjects[0].trials["saved_read"].status is Status.OK
    assert not report.at_least(Severity.WARNING)


def test_symmetric_inputs_are_compiled_like_others():
    trials = check_function(published.EigenvaluesAgain, level="compile").subjects[0].trials
    assert {name: trials[name].status for name in ("compile", "export")} == dict.fromkeys(
        ("compile", "export"), Status.OK
    )
