"""A loss may be the sum of thousands of terms, and a program's text as long as its author's generator is patient."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.anomaly import explain
from gradscope.explain.deductions.steps import running_averages
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.findings.objectives.masked_means import _masked
from gradscope.explain.findings.objectives.targets_with_gradient import _is_mixed
from gradscope.model.operation import base_name
from gradscope.store.reader import load

TERMS = 1_500  # more than Python calls in one another


def summed(path: Path) -> None:
    weight = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-5)
    with gradscope.record(path):
        for _ in range(4):
            total, scaled = 0.0, weight
            for _ in range(TERMS):
                total = total + (weight - torch.ones(3)).square().mean()
                scaled = scaled * 0.999
            optimizer.zero_grad()
            (total + scaled.mean()).backward()
            optimizer.step()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("summed") / "run.gscope"
    summed(path)
    return path


def test_a_loss_of_many_terms_is_explained(recorded: Path) -> None:
    with load(recorded) as recording:
        assert [one.code for one in explain(recording).findings] == []


def test_a_mask_is_looked_for_behind_all_factors(recorded: Path) -> None:
    with load(recorded) as recording:
        flow = dataflow(Case(recording))
        means = [at for at, one in enumerate(flow.operations) if base_name(one.operation.name) == "mean"]
        assert _masked(flow, flow.operations[means[TERMS]].reads[0].tensor, means[TERMS]) is None


def test_data_is_looked_for_behind_all_terms(recorded: Path) -> None:
    with load(recorded) as recording:
        flow = dataflow(Case(recording))
        assert _is_mixed(flow, flow.roots[0].tensor, len(flow.operations)) is False


def test_names_that_stand_for_one_another_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def sources(case: Case, own: tuple[object, ...], name: str) -> list[tuple[tuple[object, ...], ast.expr]]:
        asked.append(name)
        return [(own, ast.Name(one)) for one in "abc"]

    monkeypatch.setattr(running_averages, "_sources", sources)
    running_averages.places_of(None, (), ast.Name("a"))  # type: ignore[arg-type]  # no source is read
    assert len(asked) <= 3 * running_averages._FAR
