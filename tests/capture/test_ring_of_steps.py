"""`max_size` is a ring of steps: the oldest go, and what is left is a recording like any other."""

import json
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.store import retention, room, writer
from gradscope.store.reader import load
from tests.capture.side_by_side import python

SIZE = 1_000_000
CHAIN = 150  # nodes of the longest graph


def train(path: Path, steps: int, **options):
    """Each graph is another one, and comes back after a while."""
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path, **options) as recorded:
        for step in range(steps):
            total = weight * torch.ones(step % 40 + 1, 3)
            for _ in range(CHAIN - step % 40):
                total = total * 1.0
            total.sum().backward()
    return recorded


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    path = tmp_path_factory.mktemp("ring") / "run.gscope"
    recorded = train(path, 150, max_size="1MB", detail="full")
    return path, recorded.summary


def test_the_file_stays_under_the_bound(ring):
    path, summary = ring
    assert (summary.failure, summary.faults) == (None, {})
    assert path.stat().st_size <= SIZE


def test_the_last_steps_are_there_without_a_gap(ring):
    path, summary = ring
    with load(path) as recording:
        steps = [call.step for call in recording.backwards()]
        assert steps == list(range(steps[0], 150))
        assert list(summary.dropped.values()) == [steps[0]]
        assert (recording.census().steps, recording.census().first_step) == (len(steps), steps[0])


def test_each_step_that_is_left_has_all_that_it_is_made_of(ring):
    path, _ = ring
    with load(path) as recording:
        for call in recording.backwards():
            length = CHAIN - call.step % 40
            assert len(recording.graph(call.number).nodes) == length + 3
            assert len(recording.node_runs(call.number)) == length + 3
            assert recording.operators(call.number)


def test_nothing_points_at_what_went(ring):
    path, _ = ring
    with load(path) as recording:
        rows = recording.tables.rows
        for table, (_, pointing) in retention._CONTENT.items():
            lost = (
                f"SELECT count(*) FROM {pointing} WHERE {table} IS NOT NULL AND {table} NOT IN (SELECT id FROM {table})"
            )
            assert rows.number(lost) == 0


@pytest.mark.parametrize(
    "command", ["info", "graph", "replay", "steps", "memory", "times", "grads", "hooks", "explain"]
)
def test_every_command_reads_it(command, ring, tmp_path):
    path, _ = ring
    told = python(tmp_path, "-m", "gradscope", command, str(path))
    assert told.status == 0, told.stderr


def test_info_says_which_steps_it_holds(ring, tmp_path):
    path, summary = ring
    (gone,) = summary.dropped.values()
    told = python(tmp_path, "-m", "gradscope", "info", str(path))
    assert ["steps", f"{gone} to 149"] in [line.split(maxsplit=1) for line in told.stdout.splitlines()]
    census = json.loads(python(tmp_path, "-m", "gradscope", "info", "--fmt", "json", str(path)).stdout)["census"]
    assert (census["first_step"], census["last_step"]) == (gone, 149)


def test_what_the_last_steps_do_not_need_goes_while_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "_OFTEN", 8)
    monkeypatch.setattr(writer, "_SOON", -1.0)  # each step is written when it ends, however fast they are
    path, weight, known = tmp_path / "run.gscope", torch.ones(3, requires_grad=True), []
    with gradscope.record(path, keep_last=4) as recorded:
        for step in range(80):
            total = weight
            for _ in range(step + 1):
                total = total * 1.0
            total.sum().backward()
            known.append(len(recorded._recorder.writer._ids["graph"]))
    assert max(known) <= 4 + 3 * 8
    with load(path) as recording:
        assert [len(recording.graph(call.number).nodes) for call in recording.backwards()] == [79, 80, 81, 82]
