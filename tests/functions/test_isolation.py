"""A crash, a hang or an exit in one trial is a result, not the end."""

import pytest
import torch

from gradscope.functions.check import Settings, check
from gradscope.functions.inputs.sample import make_sample
from gradscope.functions.trials import run
from gradscope.model.finding import Severity
from gradscope.model.report import Status
from tests.functions.cases import choices


@pytest.mark.parametrize(
    ("function", "detail", "timeout"),
    [
        (choices.Aborts, "SIGABRT", None),
        (choices.Hangs, "did not end within", 2.0),  # what does not hang takes a tenth of a second on a busy machine
        (choices.Leaves, "SystemExit", None),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_rest_is_still_checked(function, detail, timeout, capfd, monkeypatch):
    monkeypatch.setattr(run, "MOST_DEATHS", 2 if timeout else run.MOST_DEATHS)  # each one that hangs takes its time
    given = (make_sample((torch.rand(3) + 0.5,)),)
    report = check([("mymod.Fn", function)], Settings(timeout=timeout, samples=given))
    (subject,) = report.subjects
    assert detail in subject.trials["eager_bwd"].detail
    assert subject.trials["eager_fwd"].status is Status.OK
    assert report.at_least(Severity.ERROR)
    assert "noise" not in capfd.readouterr().out


def test_what_was_not_run_is_never_ok():
    (subject,) = check([("mymod.Fn", choices.Aborts)], Settings()).subjects
    later = list(subject.trials)[list(subject.trials).index("functional_call") :]
    assert all(subject.trials[name].status is not Status.OK for name in later)


def test_two_runs_give_the_same_report():
    first, second = (check([("mymod.Fn", choices.Combined)], Settings()) for _ in range(2))
    assert first == second
