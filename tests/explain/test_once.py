"""A question about a line is asked once, however often the line ran: a run may have thousands of derivatives."""

import torch

import gradscope
from gradscope.explain.evidence.case import Case
from gradscope.explain.findings import second_derivatives
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
