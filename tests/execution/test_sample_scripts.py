"""Every backward of every sample script runs again bit for bit, in the order that the model of the engine predicts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradscope.engine.compare import differences
from gradscope.errors import NothingCheckedError
from gradscope.execution.execute import execute
from gradscope.execution.extract import extract
from gradscope.model.execution import Status
from gradscope.model.graph import OrderSource
from gradscope.store.reader import Recording, load
from tests.capture.side_by_side import SideBySide
from tests.torch_versions import without_noise

ROOT = Path(__file__).parent.parent.parent
SAMPLE_SCRIPTS = sorted((ROOT / "sample_scripts").glob("*.py"))
TRACE = ("trace", "-q", "--detail", "full", "--tensors", "--steps", "0:8", "-o", "run.gscope")
RUN_ALL = """
import runpy, sys
for path in sys.argv[1:]:
    try: runpy.run_path(path)
    except SystemExit as end: print(end.code)
"""
SCRIPTS = 5  # that are extracted from each recording


@pytest.mark.parametrize("script", SAMPLE_SCRIPTS, ids=lambda script: script.stem)
def test_bit_for_bit(script: Path, side_by_side: SideBySide, tmp_path: Path) -> None:
    traced = side_by_side.gradscope(tmp_path, *TRACE, script)
    assert (traced.status, traced.stderr) == (0, "")
    with load(tmp_path / "run.gscope") as recording:
        assert recording.faults() == ()
        for backward in recording.backwards():
            graph, stored = recording.graph(backward.number), recording.stored(backward.number)
            assert backward.order_source is OrderSource.MEASURED
            assert differences(graph) == ()
            if backward.nested_in is None:
                execution = execute(graph, stored)
                assert {outcome.node for outcome in execution.outcomes} >= {each.node for each in stored.exchanges}
                assert [one for one in execution.outcomes if one.status is not Status.EQUAL] == []
        assert_scripts_run(recording, tmp_path)


def assert_scripts_run(recording: Recording, folder: Path) -> None:
    """A few nodes of the last backward as scripts of their own, without gradscope on their path."""
    graph = recording.graph()
    stored = recording.stored(graph.backward.number)
    written = []
    for exchange in stored.exchanges[:: 1 + len(stored.exchanges) // SCRIPTS]:
        name = f"node{exchange.node}"
        try:
            found = extract(graph.nodes[exchange.node], stored, name, f"{name}.bin", recording.run().torch)
        except NothingCheckedError:
            continue
        (folder / f"{name}.py").write_text(found.script, encoding="utf-8")
        (folder / f"{name}.bin").write_bytes(found.data)
        written.append(f"{name}.py")
    output = python(folder, "-P", "-c", RUN_ALL, *written)
    assert output.count("all results are equal\n0\n") == len(written) > 0, output


def python(folder: Path, *arguments: str) -> str:
    run = subprocess.run([sys.executable, *arguments], cwd=folder, env={}, capture_output=True, text=True, check=False)
    assert (run.returncode, without_noise(run.stderr)) == (0, ""), run.stderr
    return run.stdout
