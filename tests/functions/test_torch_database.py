"""torch's own collection of Functions, checked as it is: verdicts agree with what running them shows."""

import sys
import types

import pytest
import torch

from gradscope.functions.check import Settings, check
from gradscope.model.finding import Severity
from gradscope.model.report import Status

# backward adds a constant; forward does not sort; backward ignores the incoming gradient
WRONG_BY_MISTAKE = {"CubeGenVmap", "NumpySort", "NumpyCubeNotComposable"}
WRONG_ON_PURPOSE = {"ScaleGradGenVmap", "ZeroGradientsGenVmap"}
WRONG = WRONG_BY_MISTAKE | WRONG_ON_PURPOSE


@pytest.fixture(scope="module")
def database():
    """torch's module; it imports expecttest, which is no dependency of ours and plays no part here."""
    if "expecttest" not in sys.modules:
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = object
    from torch.testing._internal import autograd_function_db

    return autograd_function_db


def inputs_for(database):
    x = torch.tensor([1.1, 0.9, 1.7, 1.3])
    table = torch.stack([x, 1.2 * x.flip(0), x.roll(1)])
    _, index, inverse = database.NumpySort.apply(table, 1)
    groups = {
        (x,): ("NumpyCube", "CubeGenVmap", "NumpyCubeNotComposable", "NumpyExp_", "ScaleGradGenVmap"),
        (x, table): ("NumpyMul", "MulGenVmap", "ZeroGradientsGenVmap"),
        (table, 1): ("NumpySort", "SortGenVmap"),
        (table, index, inverse, 1): ("NumpyTake", "TakeGenVmap"),
        (table, 2): ("Select", "SelectGenVmap"),
        (table, (2,)): ("ForwardHasDefaultArgs",),
    }
    return {name: sample for sample, names in groups.items() for name in names}


@pytest.fixture(scope="module")
def report(database):
    samples = inputs_for(database)
    for name, sample in samples.items():
        getattr(database, name).gradscope_inputs = [sample]
    try:
        return check([(name, getattr(database, name)) for name in samples], Settings(jobs=2))
    finally:
        for name in samples:
            del getattr(database, name).gradscope_inputs


def test_exactly_the_wrong_gradients_are_found(report):
    wrong = {s.function for s in report.subjects if s.trials["gradcheck"].status is Status.WRONG}
    assert wrong == WRONG


@pytest.mark.parametrize("name", sorted(WRONG_BY_MISTAKE))
def test_a_wrong_gradient_is_an_error(report, name):
    assert {f.code for f in report.of(name)} & {"GS401", "GS403", "GS418"}


@pytest.mark.parametrize("name", sorted(WRONG_ON_PURPOSE))
def test_a_gradient_that_is_another_on_purpose_is_told(report, name):
    assert {f.code for f in report.of(name)} & {"GS401", "GS422"}


@pytest.mark.parametrize(
    "name", ["MulGenVmap", "NumpyMul", "NumpyCube", "NumpyTake", "TakeGenVmap", "Select", "SelectGenVmap"]
)
def test_right_ones_have_no_wrong_reverse_trial(report, name):
    subject = next(s for s in report.subjects if s.function == name)
    bad = [n for n in ("eager_bwd", "gradcheck", "grad", "vjp", "gradgradcheck") if subject.trials[n].status.failed]
    assert not bad, report.of(name)


def test_nothing_is_left_unexplained(report):
    assert [f for f in report.findings if f.code == "GS199" and f.severity is Severity.ERROR] == []
