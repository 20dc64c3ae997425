"""A mistake of gradscope's own in one question: the others are answered, then it is said and the status tells of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradscope.anomaly import explain
from gradscope.commands import explain as command
from gradscope.explain.findings.table import QUESTIONS
from gradscope.store.reader import load
from tests.capture.side_by_side import SideBySide
from tests.explain.corpus import FAULTS

SCRIPT = FAULTS / "no_gradient" / "detach_between_layers.py"


def fails(case):
    raise IndexError("of one question")


BROKEN = [replace(QUESTIONS[0], question=fails), *QUESTIONS[1:]]


@pytest.fixture(scope="module")
def recording(nursery: SideBySide) -> Path:
    _, path = nursery.traced(SCRIPT.parent, SCRIPT)
    return path


def test_the_other_answers_are_given(recording: Path) -> None:
    mistakes: list[Exception] = []
    with load(recording) as opened:
        report = explain(opened, kinds=BROKEN, mistakes=mistakes)
    assert [one.code for one in report.findings] == ["GS721"]
    assert list(map(type, mistakes)) == [IndexError]


def test_it_is_raised_where_nobody_notes_it(recording: Path) -> None:
    with load(recording) as opened, pytest.raises(IndexError, match="of one question"):
        explain(opened, kinds=BROKEN)


def test_the_command_says_it_behind_the_answers(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "explain", partial(explain, kinds=BROKEN))
    result = CliRunner().invoke(command.command, [str(recording), "-q"])
    assert "GS721" in result.stdout
    assert isinstance(result.exception, IndexError)
