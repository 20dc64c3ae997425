"""`steps` and `keep_last` bound what is recorded, and what was dropped is counted."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.errors import UsageError
from gradscope.model.window import Window
from gradscope.store.reader import Recording


def train(path: Path, **options: object) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path, **options):  # type: ignore[arg-type]
        for step in range(10):
            (weight * torch.ones(step + 1, 3)).sum().backward()
            with torch.no_grad():
                weight.mul_(0.5)


def steps(recorded: Recording) -> list[int]:
    return [backward.step for backward in recorded.backwards()]


def written(recorded: Recording) -> list[int | None]:
    return [
        block.version_before(write)
        for block in recorded.blocks()
        for one in block.operations
        for write in one.writes
        if write.leaf
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2:5", [2, 3, 4]), ("7:", [7, 8, 9]), (":2", [0, 1]), ("3", [3])],
    ids=["a:b", "a:", ":b", "a"],
)
def test_only_the_steps_asked_for_are_recorded(text: str, expected: list[int], tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    train(path, steps=text)
    with gradscope.load(path) as recorded:
        assert steps(recorded) == expected
        assert len(recorded.graph(expected[0]).nodes) == 3
        assert sum(recorded.census().dropped.values()) == 10 - len(expected)


def test_operators_outside_of_the_steps_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    train(path, steps="2:4")
    with gradscope.load(path) as recorded:
        assert written(recorded) == [1, 2, 3]  # the update before the first step's forward, and the last step's own


def test_the_last_steps_are_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    train(path, keep_last=3)
    with gradscope.load(path) as recorded:
        assert steps(recorded) == [7, 8, 9]
        assert recorded.graph(7).nodes[0].name == "SumBackward0"
        assert recorded.census().graphs <= 3
        assert list(recorded.census().dropped.values()) == [7]
        assert written(recorded) == [6, 7, 8, 9]  # a step begins where the backward before it ended


def test_the_last_steps_are_as_in_a_recording_of_all(tmp_path: Path) -> None:
    train(tmp_path / "whole.gscope", detail="full")
    train(tmp_path / "last.gscope", detail="full", keep_last=3)
    with gradscope.load(tmp_path / "whole.gscope") as whole, gradscope.load(tmp_path / "last.gscope") as last:
        for number in (7, 8, 9):
            assert contents(last, number) == contents(whole, number)
            assert all(contents(last, number))
        kept = stretches(last)
        assert kept == stretches(whole)[-len(kept) :]
        # what is between two backward calls may be several: the update's operators are one of their own
        assert [backward for backward, _ in groupby(one for _, one in kept)] == [None, 7, None, 8, None, 9, None]


def contents(recorded: Recording, number: int) -> list[object]:
    """What a recording says of a backward call, but for times and the numbers of threads."""
    graph = recorded.graph(number)
    nodes = [(one.name, one.op, one.leaf, one.site, one.order, one.inputs_meta, one.saved) for one in graph.nodes]
    runs = [(one.node, one.position) for one in recorded.node_runs(number)]
    return [nodes, graph.edges, recorded.operators(number), runs, recorded.gradients(number)]


def stretches(recorded: Recording) -> list[tuple[tuple[str, ...], int | None]]:
    return [(tuple(one.name for one in block.operations), block.backward) for block in recorded.blocks()]


def test_the_last_of_the_steps_asked_for_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    train(path, steps="1:6", keep_last=2)
    with gradscope.load(path) as recorded:
        assert steps(recorded) == [4, 5]
        assert sum(recorded.census().dropped.values()) == 8


def test_a_recording_of_the_last_steps_does_not_grow(tmp_path: Path) -> None:
    short, long = tmp_path / "short.gscope", tmp_path / "long.gscope"
    train(short, keep_last=10)
    train(long, keep_last=2)
    assert long.stat().st_size <= short.stat().st_size


@pytest.mark.parametrize("text", ["", ":", "a:b", "5:5", "5:2", "-1:3", "1:2:3", "²:3"])
def test_steps_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"steps|step in it"):
        Window.parse(text)


def test_a_wrong_argument_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no step in it"):
        gradscope.record(tmp_path / "run.gscope", steps="4:2")
    with pytest.raises(UsageError, match="whole number"):
        gradscope.record(tmp_path / "run.gscope", keep_last=0)
