"""A case reads what its questions ask for, each fact once; a recording reads it whenever it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gradscope.errors import UnreadableError
from gradscope.explain.deductions.lines.graph_cuts import Reason
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.findings.cuts.missing_gradient import REASONS
from gradscope.store.facts import Facts
from gradscope.store.reader import Recording, load
from tests import by_hand
from tests.recordings import write

OF_A_BACKWARD = ("hooks_at",)
FACTS = [name for name, member in vars(Facts).items() if callable(member) and not name.startswith("_")]


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    with load(write(tmp_path / "run.gscope", by_hand.small())) as opened:
        yield opened


def test_a_case_reads_a_fact_once(recording: Recording) -> None:
    case, ran = Case(recording), []
    recording.tables.file.connection.set_trace_callback(ran.append)
    first = case.backwards()
    before = len(ran)
    assert before
    assert case.backwards() is first
    assert len(ran) == before


def test_a_recording_reads_again(recording: Recording) -> None:
    assert recording.backwards() == recording.backwards()
    assert recording.backwards() is not recording.backwards()


def test_what_is_concluded_stays_with_its_case(recording: Recording) -> None:
    case = Case(recording)
    assert dataflow(case) is dataflow(case)
    assert dataflow(case) is not dataflow(Case(recording))


@pytest.mark.parametrize("name", FACTS)
def test_what_goes_wrong_in_reading_a_fact_is_one_sentence(recording: Recording, name: str) -> None:
    recording.tables.file.connection.close()
    with pytest.raises(UnreadableError):
        getattr(recording, name)(*([0] if name in OF_A_BACKWARD else []))


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(Reason)
