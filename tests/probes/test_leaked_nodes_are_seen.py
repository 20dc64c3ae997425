"""Nodes that outlive their step are counted, and what holds them is named without keeping anything alive."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.probes.core.referrers import Referrers
from gradscope.probes.graph.leaked_nodes import LeakedNodes
from gradscope.store.reader import load


class Keeper:
    """Holds what it is given."""

    def __init__(self) -> None:
        self.kept: list[torch.Tensor] = []
        self.last: object = None


def train(keeper: Keeper, keep: bool) -> None:
    weight = torch.ones(3, requires_grad=True)
    for _ in range(12):
        loss = (weight * 2).sum()
        loss.backward()
        if keep:
            keeper.kept.append(loss)


@pytest.mark.parametrize("keep", [True, False])
def test_nodes_of_old_steps_are_counted_when_they_live(keep: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.gscope"
    with gradscope.record(path):
        train(Keeper(), keep)
    with load(path) as recorded:
        assert {one.made for one in recorded.survivors()} == (set(range(1, 9)) if keep else set())
        assert [(one.kind, one.name, one.owner) for one in recorded.holders()] == [("list", "kept", "Keeper")] * keep


def test_an_attribute_and_a_variable_are_places() -> None:
    keeper = Keeper()
    thing = keeper.last = {object()}
    found = set(Referrers(ignored=()).of(thing))
    assert ("attribute", "last", "Keeper") in found
    assert ("variable", "thing", "test_an_attribute_and_a_variable_are_places") in found


def test_looking_for_places_keeps_no_local_alive() -> None:
    thing = Keeper()
    dead = weakref.ref(thing)
    list(Referrers(ignored=()).of(thing))
    del thing
    gc.collect()
    assert dead() is None


def test_a_leak_between_the_watched_steps_is_seen_once_one_of_them_raises_suspicion(tmp_path: Path) -> None:
    path, weight, kept = tmp_path / "run.gscope", torch.ones(3, requires_grad=True), []
    with gradscope.record(path):
        for step in range(70):
            if step % 4 == 1:
                kept.append((weight * 3).sum())
            (weight * 2).sum().backward()
    with load(path) as recorded:
        assert {one.made for one in recorded.survivors()} >= {1, 5, 9, 13, 17}


def evaluate(model: torch.nn.Module) -> torch.Tensor:
    return model.eval()(torch.ones(2, 3)).sum()


def test_an_evaluation_that_keeps_its_graph_is_seen_at_any_step(tmp_path: Path) -> None:
    model, path, kept = torch.nn.Linear(3, 1), tmp_path / "run.gscope", []
    with gradscope.record(path):
        for step in range(1, 91):
            model.train()(torch.ones(2, 3)).sum().backward()
            if step % 19 == 0:  # steps that are watched for no other reason
                kept.append(evaluate(model))
    with load(path) as recorded:
        assert {19, 38, 57} <= {one.made for one in recorded.survivors()}


def probes() -> list[LeakedNodes]:
    return [one for one in gc.get_objects() if type(one) is LeakedNodes]


def test_what_is_watched_of_evaluations_does_not_grow_with_the_run(tmp_path: Path) -> None:
    model, kept, watched = torch.nn.Linear(3, 1), [], []
    before = set(map(id, probes()))  # the last recording's lives on for a while
    with gradscope.record(tmp_path / "run.gscope"):
        (probe,) = (one for one in probes() if id(one) not in before)
        for step in range(1, 1201):
            model.train()(torch.ones(2, 3)).sum().backward()
            if step % 11 == 0:
                kept.append(evaluate(model))
            if step in (600, 1200):
                watched.append(len(probe._cohorts))
    assert watched[1] < watched[0] + 8  # 54 evaluations later; which of the regular steps keep something differs
