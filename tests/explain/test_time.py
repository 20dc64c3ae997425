"""No question takes longer than it may: what is left out is said, and nothing that rests on it is."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

import gradscope
from gradscope import anomaly
from gradscope.anomaly import explain
from gradscope.commands import pages
from gradscope.commands.reporting import exit_status
from gradscope.errors import Exit
from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps import optimizer_parameters
from gradscope.explain.evidence.case import Case, OutOfTime
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import Syntax
from gradscope.explain.findings import table
from gradscope.explain.findings.kind import Kind
from gradscope.model.finding import Severity
from gradscope.render import github, junit, report_json, report_text, sarif
from gradscope.store.reader import Recording, load
from tests import by_hand
from tests.recordings import write

PIECES = 200
MANY_LINES = "def f(x):\n    with no_grad():\n        y = x\n    return y\n" * 200


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training step on data that were written piece by piece."""
    path = tmp_path_factory.mktemp("filled") / "run.gscope"
    with gradscope.record(path):
        data = torch.zeros(PIECES, 2)
        for row in range(PIECES):
            data[row] += row
        (data @ torch.ones(2, requires_grad=True)).sum().backward()
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    with load(write(tmp_path / "run.gscope", by_hand.small())) as opened:
        yield opened


def ticking() -> Callable[[], float]:
    """A clock on which a second passes whenever it is read."""
    return count(0.0, 1.0).__next__


def endless(case: Case) -> Iterator[Cause]:
    """Asks for ever."""
    yield Cause("half an answer", None)
    while case.backwards() is not None:
        pass


def quick(case: Case) -> Iterator[Cause]:
    """Answers at once."""
    yield Cause("an answer", None)


ENDLESS, QUICK = (
    Kind(code, "kind", Severity.ERROR, question) for code, question in (("GS901", endless), ("GS902", quick))
)


def test_a_question_that_does_not_end_is_left_out_and_the_others_are_answered(recording: Recording) -> None:
    report = explain(recording, kinds=(ENDLESS, QUICK), clock=ticking())
    assert report.left_out == ("GS901",)
    assert [finding.message for finding in report.findings] == ["an answer"]


@pytest.mark.parametrize("way", ["unless", "after"])
def test_what_rests_on_one_that_was_left_out_is_left_out_too(recording: Recording, way: str) -> None:
    resting = replace(QUICK, **{way: ("GS901",)})
    report = explain(recording, kinds=(ENDLESS, resting), clock=ticking())
    assert (report.left_out, report.findings) == (("GS901", "GS902"), ())


def test_all_questions_together_end_as_well(recording: Recording) -> None:
    kinds = [replace(ENDLESS, code=f"GS9{number:02}") for number in range(50)]
    assert len(explain(recording, kinds=kinds, clock=ticking()).left_out) == 50


def test_what_is_left_out_is_said(recording: Recording) -> None:
    report = explain(recording, kinds=(ENDLESS,), clock=ticking())
    assert "looking for GS901 took too long and was left out" in report_text.render(report)
    assert "GS901 took too long" in github.render(report)
    assert '<skipped message="looking for it took too long"' in junit.render(report)
    assert json.loads(report_json.render(report))["left_out"] == ["GS901"]
    (invocation,) = json.loads(sarif.render(report))["runs"][0]["invocations"]
    assert "GS901 took too long" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert exit_status(report, "error") is Exit.NOTHING_CHECKED


def test_what_a_picture_or_page_may_lack_is_said(
    recording: Recording, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anomaly, "explain", partial(explain, clock=ticking()))
    monkeypatch.setattr(table, "QUESTIONS", (ENDLESS, QUICK))
    assert pages.explained(recording)
    assert "looking for GS901 took too long" in capsys.readouterr().err


def test_nothing_is_said_when_all_was_answered(recording: Recording) -> None:
    report = explain(recording, kinds=(QUICK,))
    assert report.left_out == ()
    assert "left_out" not in json.loads(report_json.render(report))


def test_a_walk_over_tensors_ends_with_the_time_of_its_question(filled: Path) -> None:
    with load(filled) as recorded:
        case = Case(recorded, ticking())
        flow = dataflow(case)
        with case.within(2), pytest.raises(OutOfTime):
            _ = flow.useful


def test_what_fills_memory_piece_by_piece_is_walked_once(filled: Path) -> None:
    with load(filled) as recorded:
        flow = dataflow(Case(recorded))
    told = 0
    sources = flow.sources

    def counted(tensor: int, before: int, walked: dict[int, int] | None = None) -> Iterator[int]:
        nonlocal told
        for at in sources(tensor, before, walked):
            told += 1
            yield at

    with patch.object(flow, "sources", counted):
        assert flow.useful
    assert PIECES < told < 10 * PIECES


def test_a_file_is_parsed_and_looked_through_once() -> None:
    syntax = Syntax({"many.py": MANY_LINES})
    with patch.object(ast, "parse", wraps=ast.parse) as parse, patch.object(ast, "walk", wraps=ast.walk) as walk:
        sites = [syntax.site("many.py", line) for line in range(1, 801)]
        found = [(syntax.function(site), syntax.statement(site)) for site in sites]
    assert (parse.call_count, walk.call_count) == (1, 1)
    assert [getattr(function, "lineno", None) for function, _ in found[:8]] == [1, 1, 1, 1, 5, 5, 5, 5]
    assert [statement.lineno for _, statement in found[:5] if statement] == [1, 2, 3, 4, 5]


def test_the_operators_are_gone_through_once_however_many_parameters_no_optimizer_holds(tmp_path: Path) -> None:
    held, others = torch.ones(2, requires_grad=True), [torch.nn.Parameter(torch.ones(2)) for _ in range(30)]
    optimizer = torch.optim.SGD([held], 0.1)
    with gradscope.record(tmp_path / "run.gscope"):
        for _ in range(3):
            with torch.no_grad():
                torch.zeros(2).add_(1)
            (held + sum(others)).sum().backward()
            optimizer.step()
    with load(tmp_path / "run.gscope") as opened:
        case = Case(opened)
        with patch.object(optimizer_parameters, "is_optimizer", wraps=optimizer_parameters.is_optimizer) as asked:
            assert len(optimizer_parameters.optimizer_parameters(case).others) == 30
        assert 0 < asked.call_count <= len(dataflow(case).operations)
