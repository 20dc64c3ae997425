"""What compiled autograd did comes back from a recording as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradscope.errors import UnreadableError
from gradscope.model.compiled import Captured, CompiledKind, CompiledRun, CompiledSize, CompiledStep
from gradscope.model.site import Site
from gradscope.store.compiled_tables import write_captured, write_compiled_run
from gradscope.store.reader import load
from gradscope.store.writer import Writer

LINE = (Site("/no/such/file.py", 3, "f"),)
STEPS = (
    CompiledStep(0, CompiledKind.HOOK, "call_hook", "SumBackward0", 1, "pre_hook", "watch", LINE),
    CompiledStep(1, CompiledKind.NODE, "SumBackward0", "SumBackward0", 1, inputs=(0,)),
    CompiledStep(2, CompiledKind.OTHER, "add", inputs=(0, 1)),
)
CAPTURED = Captured(0, "Cache miss", LINE, STEPS, (CompiledSize(4, True), CompiledSize(1, False)), 2)
RUN = CompiledRun(0, True, LINE, None, (4, 5))


def written(path: Path, captured: Captured, run: CompiledRun) -> Path:
    writer = Writer(path)
    writer.set_run({"argv": ["a.py"], "cwd": "/"})
    write_captured(writer, captured)
    write_compiled_run(writer, run)
    writer.close({"ended": True})
    return path


def test_captures_and_runs_come_back(tmp_path: Path) -> None:
    with load(written(tmp_path / "a.gscope", CAPTURED, RUN)) as recording:
        assert recording.captured() == (CAPTURED,)
        assert recording.compiled_runs() == (RUN,)


def test_a_step_that_needs_a_later_one_is_damage(tmp_path: Path) -> None:
    wrong = replace(CAPTURED, steps=(replace(STEPS[0], inputs=(1,)), *STEPS[1:]))
    with load(written(tmp_path / "a.gscope", wrong, RUN)) as recording, pytest.raises(UnreadableError):
        recording.captured()


def test_a_run_of_no_capture_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gscope", CAPTURED, replace(RUN, captured=7))
    with load(path) as recording, pytest.raises(UnreadableError):
        recording.compiled_runs()
