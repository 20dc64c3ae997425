"""A recording that an older version wrote still says what it said: past/N.sql is one of schema N."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gradscope import load
from gradscope.store.schema import SCHEMA

PAST = Path(__file__).parent / "past"


@pytest.fixture(params=range(1, SCHEMA))
def old(request, tmp_path):
    path = tmp_path / "old.gscope"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((PAST / f"{request.param}.sql").read_text(encoding="utf-8"))
    return path


def test_graphs_orders_and_gradients_are_there(old):
    with load(old) as recording:
        assert [backward.number for backward in recording.backwards()] == [0, 1]
        graph = recording.graph(1)
        names = [node.name for node in sorted(graph.nodes, key=lambda node: node.order)]
        assert names[:3] == ["MeanBackward0", "PowBackward0", "AddmmBackward0"]
        assert sum(node.accumulates for node in graph.nodes) == 4
        runs = recording.node_runs(1)
        assert [run.node for run in runs][:3] == [node.id for node in sorted(graph.nodes, key=lambda n: n.order)][:3]
        assert all(run.duration > 0 for run in runs)
        assert recording.gradients(1)[0].norm == 2.0  # the hook on the loss doubles it
        assert all(block.watched for block in recording.blocks())
        assert recording.births() == ()
        assert recording.findings == ()


def test_the_file_stays_as_it_was(old):
    before = old.read_bytes()
    load(old).close()
    assert old.read_bytes() == before
