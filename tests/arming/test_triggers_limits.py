"""How often triggers are met, and how often anybody looks."""

import pytest
import torch

from gradscope.arming.budget import Budget
from gradscope.arming.looks import Looks, values
from gradscope.arming.triggers import CONDITIONS, Triggers
from gradscope.arming.usual import LEAST, Usual
from gradscope.model.trigger import TRIGGERS, Trigger


class Always(Looks):
    def are_due(self, now):
        return True


def met_by(losses, most=5, accepts=True):
    met = []
    triggers = Triggers([Trigger.parse("nonfinite")], most, lambda step, why: met.append(step) or accepts)
    triggers._looks = Always(False)
    for step, loss in enumerate(losses):
        triggers.after(step, (torch.tensor(loss),), None)
    return met


def test_every_kind_that_a_step_can_meet_has_a_condition():
    assert list(CONDITIONS) == [kind.name for kind in TRIGGERS if kind.armed]


def test_a_loss_that_stays_nan_is_met_once():
    assert met_by([1.0] * 3 + [float("nan")] * 500) == [3]


def test_it_is_met_again_after_a_rest():
    assert met_by([float("nan"), *[1.0] * 99, 1.0, float("nan")]) == [0, 101]


def test_no_more_often_than_the_limit():
    assert met_by([float("nan"), *[1.0] * 100] * 8, most=2) == [0, 101]


def test_what_was_refused_does_not_count():
    assert len(met_by([float("nan"), *[1.0] * 100] * 8, most=2, accepts=False)) == 8


def test_nothing_is_usual_at_first():
    usual = Usual()
    for _ in range(LEAST - 1):
        usual.add(2.0)
    assert usual.median is None
    usual.add(2.0)
    assert (usual.median, usual.distance) == (2.0, 0.0)


def test_looks_take_their_share_of_the_time():
    budget = Budget(0.01)
    budget.spent(0.0, 0.5)
    assert (budget.is_due(50.0), budget.is_due(50.6)) == (False, True)


def test_gradients_are_read_as_one_norm_and_leave_nothing_behind():
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    loss = 3 * x.sum() + 4 * y.sum()
    loss.backward()
    assert values(Looks(True).read((loss,), 0.0)) == (14.0, pytest.approx(50**0.5, rel=1e-6))
    assert x.grad.tolist() == [3.0, 3.0]
