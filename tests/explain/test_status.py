"""The exit status of `gradscope explain`, and how sure a finding is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import gradscope as library
from gradscope.anomaly import explain
from gradscope.cli import gradscope
from gradscope.errors import Exit, UsageError
from gradscope.model.finding import Confidence, Severity
from gradscope.store.reader import load


def with_an_error(path: Path) -> None:
    with library.record(path):
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        x.log().sum().backward()


def with_a_warning(path: Path) -> None:
    model = torch.nn.Linear(3, 1)
    with library.record(path):
        model(torch.ones(2, 3)).softmax(1).sum().backward()


def healthy(path: Path) -> None:
    with library.record(path):
        torch.ones(3, requires_grad=True).sum().backward()


RUNS = {"error": with_an_error, "warning": with_a_warning, "nothing": healthy}
STATUS = {
    "error": {"": 1, "--fail-on error": 1, "--fail-on warning": 1, "--fail-on never": 0, "--exit-zero": 0},
    "warning": {"": 0, "--fail-on error": 0, "--fail-on warning": 1, "--fail-on never": 0, "--exit-zero": 0},
    "nothing": {"": 0, "--fail-on error": 0, "--fail-on warning": 0, "--fail-on never": 0, "--exit-zero": 0},
}


@pytest.mark.parametrize("run", RUNS)
def test_the_status_says_whether_something_as_severe_was_found(run: str, tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    RUNS[run](path)
    with load(path) as recording:
        severities = {finding.severity for finding in explain(recording).findings}
    assert severities == {"error": {Severity.ERROR}, "warning": {Severity.WARNING}, "nothing": set()}[run]
    asked = CliRunner()
    found = {
        options: asked.invoke(gradscope, ["explain", *options.split(), str(path)], standalone_mode=False).return_value
        for options in STATUS[run]
    }
    assert found == STATUS[run]


def test_the_help_tells_the_statuses() -> None:
    text = " ".join(CliRunner().invoke(gradscope, ["explain", "--help"]).output.split())
    assert "Exits with 1 when something as severe as --fail-on is found" in text
    assert Exit.FINDINGS == 1


def detached(hidden: torch.Tensor) -> torch.Tensor:
    return hidden.detach()


def copied(hidden: torch.Tensor) -> torch.Tensor:
    return torch.tensor((2 * hidden).tolist())


@pytest.mark.parametrize(
    ("cut", "expected"), [(detached, Confidence.CERTAIN), (copied, Confidence.LIKELY)], ids=["detach", "tolist"]
)
def test_a_cut_is_certain_where_an_operator_shows_it(cut: object, expected: Confidence, tmp_path: Path) -> None:
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
    with library.record(tmp_path / "run.gscope"):
        for _ in range(2):
            optimizer.zero_grad()
            second(cut(first(torch.ones(2, 3)))).square().sum().backward()  # type: ignore[operator]
            optimizer.step()
    with load(tmp_path / "run.gscope") as recording:
        found = explain(recording).findings
    assert [(one.code, one.confidence) for one in found] == [("GS721", expected)]


@pytest.mark.parametrize("command", ["explain", "ranks", "check-function"])
def test_a_code_that_does_not_exist_is_refused(command: str, tmp_path: Path) -> None:
    """Nothing would be found, and a typing error in CI would pass for a clean run."""
    result = CliRunner().invoke(gradscope, [command, "--select", "GS7,GS7O1", str(tmp_path / "any.gscope")])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "no code begins with GS7O1"


def test_the_beginning_of_codes_is_enough(tmp_path: Path) -> None:
    with_an_error(tmp_path / "run.gscope")
    arguments = ["explain", "--select", "gs73,GS8", str(tmp_path / "run.gscope")]
    assert CliRunner().invoke(gradscope, arguments, standalone_mode=False).return_value == Exit.FINDINGS
