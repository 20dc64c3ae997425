"""What is written is what is read."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from gradscope.errors import NothingCheckedError, UnreadableError, UsageError
from gradscope.model.graph import Backward, Graph
from gradscope.model.module import ModuleCall
from gradscope.model.operation import Block, Operation, Write
from gradscope.model.run import Fault
from gradscope.model.statistics import GradientStatistics, NodeRun
from gradscope.store.reader import load
from tests import by_hand
from tests.recordings import Writer, write, write_backward, write_graph, write_measurement


@pytest.mark.parametrize("graph", [by_hand.small(), by_hand.hostile(), by_hand.transformer(2), by_hand.chain(50)])
def test_graph_comes_back_as_it_was(tmp_path: Path, graph: Graph) -> None:
    with load(write(tmp_path / "a.gscope", graph)) as recording:
        assert recording.graph() == graph
        assert recording.graph(0) == graph
        assert recording.backwards() == (graph.backward,)


def test_run_comes_back(tmp_path: Path) -> None:
    with load(write(tmp_path / "a.gscope")) as recording:
        assert recording.run() == by_hand.RUN


def test_source_fills_the_lines(tmp_path: Path) -> None:
    file = by_hand.line(1)[0].file
    text = "\n" * 39 + "    loss.backward()  \n"
    with load(write(tmp_path / "a.gscope", by_hand.small(), sources={file: text})) as recording:
        site = recording.graph().backward.site
        assert site is not None
        assert site.source == "loss.backward()"
        assert recording.source(file) == text
        assert recording.source("other.py") is None


def test_operations_come_back(tmp_path: Path) -> None:
    write_in_place = Write("self", 3, 1, "linear.weight")
    operations = (
        Operation("aten.mm.default", by_hand.line(3), ModuleCall("linear", "Linear", ModuleCall("", "Net"))),
        Operation("aten.add_.Tensor", by_hand.line(4), node=0, writes=(write_in_place, Write("out", None, 2))),
    )
    blocks = (Block(1, operations, 0, None, 0.5), Block(2, operations[1:], 1, 0, 0.75))
    with load(write(tmp_path / "a.gscope", by_hand.small(), blocks=blocks)) as recording:
        assert tuple(recording.blocks()) == blocks
        census = recording.census()
        assert (census.operations, census.mutations, census.threads) == (3, 4, 2)


def test_census_counts_over_all_backwards(tmp_path: Path) -> None:
    graph = by_hand.small()
    writer = Writer(tmp_path / "a.gscope")
    write_graph(writer, 1, graph)
    for number in range(5):
        write_backward(writer, 1, replace(graph, backward=replace(graph.backward, number=number)))
    writer.insert("dropped", "older steps", 7)
    writer.insert("fault", "modules", "it broke", 2)
    with load(writer.close()) as recording:
        census = recording.census()
        assert (census.backwards, census.graphs, census.nodes, census.edges, census.saved) == (5, 1, 35, 30, 15)
        assert (census.hooks, census.firings, census.levels) == (1, 5, ("Grad:1 Vmap:2",))
        assert census.dropped == {"older steps": 7}
        assert recording.faults() == (Fault("modules", "it broke", 2),)
        (calls,) = recording.calls(alike=True)
        assert (calls.first, calls.last, calls.count, calls.graphs, calls.nodes) == (0, 4, 5, 1, (7, 7))
        assert len(recording.calls()) == 5


def test_statistics_come_back(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.gscope")
    write_measurement(writer, 0, [4], [(4, 1, 0.25, 0.5)], [(4, 1, 0, 2.0, 1.5, 0.25, 1, 2)])
    with load(writer.close()) as recording:
        assert recording.node_runs(0) == (NodeRun(4, 0, 1, 0.25, 0.5),)
        assert recording.gradients(0) == (GradientStatistics(4, "out", 0, 2.0, 1.5, 0.25, 1, 2),)


def test_last_is_the_last_outermost_call_with_a_graph(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.gscope")
    graph = by_hand.small()
    write_graph(writer, 1, graph)
    write_backward(writer, 1, replace(graph, backward=replace(graph.backward, number=3)))
    write_backward(writer, 1, replace(graph, backward=replace(graph.backward, number=4, nested_in=3)))
    write_backward(writer, None, Graph((), (), Backward(5, exception="RuntimeError: no grad")))
    with load(writer.close()) as recording:
        assert recording.graph().backward.number == 3
        assert recording.graph(4).backward.nested_in == 3
        with pytest.raises(NothingCheckedError, match="reached no graph"):
            recording.graph(5)
        with pytest.raises(UsageError, match="holds 3 to 5"):
            recording.graph(6)


def test_no_backward_is_nothing_to_check(tmp_path: Path) -> None:
    with load(write(tmp_path / "a.gscope")) as recording, pytest.raises(NothingCheckedError, match="no backward call"):
        recording.graph()


def test_newest_is_read_when_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCOPE_DIR", str(tmp_path))
    with pytest.raises(UnreadableError, match="there is no") as caught:
        load()
    assert "gradscope trace" in caught.value.hint
    for age, name in enumerate(("new", "old", "older")):
        os.utime(write(tmp_path / f"{name}.gscope"), (10**9 - age, 10**9 - age))
    with load() as recording:
        assert recording.path.name == "new.gscope"


def test_deep_chains_of_callers_are_read(tmp_path: Path) -> None:
    graph = by_hand.chain(2)
    deep = tuple(site for number in range(5000) for site in by_hand.line(number + 1))
    graph = replace(graph, nodes=tuple(replace(node, stack=deep) for node in graph.nodes))
    with load(write(tmp_path / "a.gscope", graph)) as recording:
        assert recording.graph() == graph


def test_reading_leaves_the_file_and_its_folder_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a b?#%.gscope", by_hand.small())
    before = path.read_bytes()
    with load(path) as recording:
        recording.graph()
        with pytest.raises(sqlite3.OperationalError):
            recording.tables.file.connection.execute("DELETE FROM node")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
