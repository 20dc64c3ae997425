"""A crash, a hang or an exit in one trial is not the end; a crash and an exit are results."""

import pytest
import torch

from gradscope.functions.check import Settings, check
from gradscope.functions.inputs.sample import make_sample
from gradscope.functions.trials import run
from gradscope.model.finding import Severity
from gradscope.model.report import Status, Verdict
from tests.functions.cases import choices

GIVEN = (make_sample((torch.rand(3) + 0.5,)),)


@pytest.mark.parametrize(
    ("function", "detail"),
    [(choices.Aborts, "SIGABRT"), (choices.Leaves, "SystemExit")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_rest_is_still_checked(function, detail, capfd):
    report = check([("mymod.Fn", function)], Settings(samples=GIVEN))
    (subject,) = report.subjects
    assert detail in subject.trials["eager_bwd"].detail
    assert subject.trials["eager_fwd"].status is Status.OK
    assert report.at_least(Severity.ERROR)
    assert "noise" not in capfd.readouterr().out


def test_what_does_not_end_is_not_checked_and_no_fault(monkeypatch):
    monkeypatch.setattr(run, "MOST_DEATHS", 2)  # each one that hangs takes its time
    # What does not hang takes a tenth of a second on a busy machine.
    report = check([("mymod.Fn", choices.Hangs)], Settings(timeout=2.0, samples=GIVEN))
    (subject,) = report.subjects
    assert subject.trials["eager_fwd"].status is Status.OK
    assert subject.verdict is Verdict.NOT_CHECKED
    assert any("eager_bwd" in gap and "did not end within 2 s" in gap for gap in subject.not_checked)
    assert not report.at_least(Severity.ERROR)


def test_what_was_not_run_is_never_ok():
    (subject,) = check([("mymod.Fn", choices.Aborts)], Settings()).subjects
    later = list(subject.trials)[list(subject.trials).index("functional_call") :]
    assert all(subject.trials[name].status is not Status.OK for name in later)


def test_two_runs_give_the_same_report():
    first, second = (check([("mymod.Fn", choices.Combined)], Settings()) for _ in range(2))
    assert first == second
