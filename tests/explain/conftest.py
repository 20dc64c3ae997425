"""Traced runs for the explanations, forked from one process that has imported torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradscope.anomaly import explain
from gradscope.model.report import Report
from gradscope.store.reader import load
from tests.capture.side_by_side import SKIP_END, SideBySide


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SideBySide]:
    beforehand = ("torch._dynamo", "tests.capture.all_heard")  # most programs pay for the first when they optimize
    with SideBySide(tmp_path_factory.mktemp("explained"), *beforehand, SKIP_END, OMP_NUM_THREADS="1") as runs:
        yield runs


@pytest.fixture
def explained(nursery: SideBySide) -> Callable[[Path], Report]:
    """Trace a script as a user does, and explain its recording."""

    def run(script: Path) -> Report:
        _, path = nursery.traced(script.parent, script)
        with load(path) as recording:
            assert recording.faults() == ()
            return explain(recording)

    return run
