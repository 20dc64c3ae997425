"""`gradscope explain --check-functions`: the custom Functions of a run are tried, and nothing else of it runs again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope
from tests.capture.side_by_side import SideBySide
from tests.torch_versions import skip_where_silent

SCRIPT = """
import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return gradient * (s + x * s{RIGHT})


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        {KEPT}.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * {KEPT}.factor, None


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x * 8).round() / 8

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def local():
    class Local(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, gradient):
            raise NotImplementedError

    return Local


class Segments(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lengths):
        ctx.lengths = lengths
        return torch.stack([part.sum(0) for part in x.split(lengths.tolist())])

    @staticmethod
    def backward(ctx, gradient):
        return gradient.repeat_interleave(ctx.lengths, 0), None


torch.manual_seed(0)
first, second = nn.Linear(4, 8), nn.Linear(8, 1)
for step in range(3):
    x = Scale.apply(Swish.apply(first(torch.randn(8, 4))), torch.ones(8))
    Round.apply(Scale.apply(second(x), torch.ones(1) * 2)).square().mean().backward()
    with torch.no_grad():
        local().apply(x)
Segments.apply(first(torch.randn(8, 4)), torch.tensor([3, 5])).sum().backward()
print("trained")
"""
Asked = Callable[..., dict[str, Any]]


@pytest.fixture
def asked(nursery: SideBySide, tmp_path: Path) -> Asked:
    """The report, as JSON, on a run of the script with these words in it."""

    def ask(*options: str, right: str = " * (1 - s)", kept: str = "ctx") -> dict[str, Any]:
        script = tmp_path / "train.py"
        script.write_text(SCRIPT.replace("{RIGHT}", right).replace("{KEPT}", kept))
        _, path = nursery.traced(tmp_path, script)
        done = CliRunner().invoke(gradscope, ["explain", "--fmt", "json", *options, str(path)])
        assert "trained" not in done.output
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    return ask


def found(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["code"], one["function"].rpartition(".")[2]) for one in report["findings"] if "function" in one]


def test_a_wrong_derivative_is_found(asked: Asked) -> None:
    report = asked("--check-functions", right="")
    assert found(report) == [("GS401", "Swish")]
    assert report["findings"][0]["site"]["source"] == "def backward(ctx, gradient):"
    assert set(report["checked"]) == {"Swish", "Scale", "Round"}


def test_right_ones_and_those_that_differ_on_purpose_are_silent(asked: Asked) -> None:
    assert found(asked("--check-functions")) == []


def test_one_whose_inputs_must_fit_each_other_is_not_accused(asked: Asked) -> None:
    report = asked("--check-functions")
    assert found(report) == []
    assert [one for one in report["unchecked"] if one["function"] == "Segments"] == [
        {"function": "Segments", "reason": "it raises on values of our own, in the shapes that it was called with"}
    ]


def test_state_on_the_class_is_found_with_and_without_trying(asked: Asked) -> None:
    skip_where_silent("GS228")
    assert found(asked(kept="Scale")) == [("GS228", "Scale")]
    assert found(asked("--check-functions", kept="Scale")) == [("GS228", "Scale")]


def test_those_that_nobody_tried_are_named(asked: Asked) -> None:
    names = {one["function"] for one in asked()["unchecked"]}
    assert names >= {"Swish", "Scale", "Round"}
