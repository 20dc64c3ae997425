"""vmap in its three randomness modes: what the trial's detail says, and what is a finding."""

import pytest

from gradscope.functions.check import check_function
from gradscope.model.finding import Severity
from gradscope.model.report import Status
from tests.functions.cases import random_numbers
from tests.functions.corpus import base, batching


def vmap_trial(function):
    return check_function(function).subjects[0].trials["vmap"]


def errors(function):
    return {f.code for f in check_function(function).findings if f.severity is Severity.ERROR}


@pytest.mark.parametrize("function", [base.Square, batching.CleanVmap], ids=lambda f: f.__name__)
def test_every_mode_works_without_random_numbers(function):
    trial = vmap_trial(function)
    assert trial.status is Status.OK
    assert trial.detail == "randomness: error ok, different ok, same ok"


def test_a_generated_rule_names_the_modes_that_work():
    trial = vmap_trial(random_numbers.Generated)
    assert trial.status is Status.RAISES
    assert trial.detail.endswith("; randomness: error raises, different ok, same ok")


def test_random_numbers_under_a_generated_rule_are_one_error():
    assert errors(random_numbers.Generated) == {"GS312"}


def test_a_rule_by_hand_may_draw_for_the_whole_batch():
    trial = vmap_trial(random_numbers.ByHand)
    assert trial.status is Status.OK
    assert trial.detail.startswith("values compared with constant draws")
    assert trial.detail.endswith("randomness: error ok, different ok, same ok")


def test_a_rule_by_hand_may_refuse_a_mode():
    trial = vmap_trial(random_numbers.Refusing)
    assert trial.status is Status.OK
    assert trial.detail.endswith("randomness: error raises, different ok, same ok")


@pytest.mark.parametrize("function", [random_numbers.ByHand, random_numbers.Refusing], ids=lambda f: f.__name__)
def test_random_numbers_under_a_rule_by_hand_are_no_error(function):
    assert errors(function) == set()


def test_gradients_of_random_batches_are_compared_with_constant_draws():
    trials = check_function(random_numbers.ByHand).subjects[0].trials
    assert {trials[name].status for name in ("vmap_grad", "grad_vmap", "eager_grad_of_vmap")} == {Status.OK}


@pytest.mark.parametrize(
    ("function", "code"),
    [(random_numbers.Shifted, "GS308"), (random_numbers.Transposed, "GS305"), (random_numbers.Unscaled, "GS307")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_wrong_values_of_the_right_shape_are_seen_although_numbers_are_random(function, code):
    assert errors(function) == {code}


@pytest.mark.parametrize("function", [random_numbers.Shuffled, random_numbers.Dropped, random_numbers.Picked])
def test_other_draws_can_be_held_still(function):
    report = check_function(function)
    assert not [f for f in report.findings if f.severity is Severity.ERROR], report.findings
    assert report.subjects[0].trials["vmap"].status is Status.OK


def test_numbers_that_numpy_draws_leave_the_shapes():
    trials = check_function(random_numbers.FromNumpy).subjects[0].trials
    assert trials["vmap"].detail.startswith("shapes only")
    assert trials["grad_vmap"].status is Status.SKIPPED


def test_a_mode_with_other_values_is_wrong():
    assert vmap_trial(random_numbers.Moody).detail == "randomness: error ok, different wrong, same ok"
    assert errors(random_numbers.Moody) == {"GS308"}
