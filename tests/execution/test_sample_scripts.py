"""Every backward of every sample script runs again bit for bit, in the order that the model of the engine predicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradscope.engine.compare import differences
from gradscope.errors import NothingCheckedError
from gradscope.execution.execute import execute
from gradscope.execution.extract import extract
from gradscope.model.execution import NodeStatus
from gradscope.model.graph import OrderSource
from gradscope.store.reader import Recording, load
from tests.capture.side_by_side import SideBySide

ROOT = Path(__file__).parent.parent.parent
SAMPLE_SCRIPTS = sorted((ROOT / "sample_scripts").glob("*.py"))
TRACE = ("trace", "-q", "--detail", "full", "--tensors", "--steps", "0:8", "-o", "run.gscope")
RUN_ALL = """
import builtins, runpy
real = builtins.__import__
def without_gradscope(name, *rest):
    assert not name.startswith("gradscope"), name
    return real(name, *rest)
builtins.__import__ = without_gradscope
for path in {}:
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
                assert [one for one in execution.outcomes if one.status is not NodeStatus.EQUAL] == []
        written = extracted(recording, tmp_path)
    (tmp_path / "all.py").write_text(RUN_ALL.format(written))
    ran = side_by_side.plain(tmp_path, "all.py")
    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.count("all results are equal\n0\n") == len(written) > 0, ran.stdout


def extracted(recording: Recording, folder: Path) -> list[str]:
    """A few nodes of the last backward as scripts of their own."""
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
    return written
