"""A question about a line is asked once, however often the line ran: a run may have thousands of derivatives."""

from pathlib import Path

import torch

import gradscope
from gradscope.explain.evidence.case import Case
from gradscope.explain.findings.graphs import second_derivatives
from gradscope.explain.findings.transforms import checkpoint_chance
from gradscope.model.finding import Confidence
from gradscope.store.reader import load


def test_the_source_of_a_derivative_is_read_once_for_its_line(tmp_path, monkeypatch):
    path, x, asked = tmp_path / "run.gscope", torch.ones(2, requires_grad=True), []
    with gradscope.record(path):
        for _ in range(30):
            torch.autograd.grad((x * x).sum(), x)
    monkeypatch.setattr(second_derivatives, "_added", lambda case, call: asked.append(call.number))
    with load(path) as recording:
        assert list(second_derivatives.missing_create_graph(Case(recording))) == []
    assert asked == [0]


def test_of_many_second_derivatives_with_one_graph_one_is_looked_at(tmp_path, monkeypatch):
    path, looked = tmp_path / "run.gscope", []
    with gradscope.record(path):
        for _ in range(30):
            x = torch.ones(2, requires_grad=True)
            (slope,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
            torch.autograd.grad(slope.sum(), x)
    flat = second_derivatives._is_flat
    monkeypatch.setattr(second_derivatives, "_is_flat", lambda graph: looked.append(graph) or flat(graph))
    with load(path) as recording:
        assert list(second_derivatives.zero_second_derivative(Case(recording))) == []
    assert [graph.backward.number for graph in looked] == [1]


def test_no_graph_is_read_for_a_mark_that_no_function_has(tmp_path, monkeypatch):
    path, x = tmp_path / "run.gscope", torch.ones(2, requires_grad=True)
    with gradscope.record(path):
        torch.autograd.grad((x * x).sum(), x, create_graph=True)
    with load(path) as recording:
        case = Case(recording)
        monkeypatch.setattr(case, "graph", None)
        assert list(second_derivatives.once_differentiable(case)) == []


def test_operators_are_not_read_for_checkpoints_that_keep_their_chance(tmp_path, monkeypatch):
    path, x = tmp_path / "run.gscope", torch.ones(2, requires_grad=True)
    with gradscope.record(path):
        torch.nn.functional.dropout(x).sum().backward()
    with load(path) as recording:
        case = Case(recording)
        monkeypatch.setattr(case, "blocks", None)
        assert list(checkpoint_chance.other_numbers(case)) == []


def test_a_line_without_create_graph_is_told_once_whatever_shows_it(explained):
    """That its derivative is refused and that the refused loss has no graph are one fault."""
    script = Path(__file__).parents[2] / "sample_scripts/faults/transforms/sharpness_of_a_minimum.py"
    (found,) = explained(script).findings
    assert (found.code, found.confidence) == ("GS772", Confidence.CERTAIN)
