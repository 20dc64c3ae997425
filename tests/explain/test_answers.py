"""`gradscope who` and `gradscope why`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner, Result

from gradscope.commands.who import command as who
from gradscope.commands.why import command as why
from gradscope.errors import UsageError
from tests.capture.side_by_side import SideBySide
from tests.explain.corpus import FAULTS

SCRIPT = FAULTS / "no_gradient" / "detach_between_layers.py"
LINES = SCRIPT.read_text(encoding="utf-8").splitlines()


def line(text: str) -> int:
    return next(number for number, one in enumerate(LINES, 1) if text in one)


@pytest.fixture(scope="module")
def recording(nursery: SideBySide) -> Path:
    _, path = nursery.traced(SCRIPT.parent, SCRIPT)
    return path


def ask(command: Command, *arguments: object) -> str:
    result: Result = CliRunner().invoke(command, [*map(str, arguments), "-q"], catch_exceptions=False)
    return result.stdout


def answer(command: Command, *arguments: object) -> dict:
    return json.loads(ask(command, *arguments, "--fmt", "json"))


def test_the_way_from_the_loss_to_a_parameter(recording: Path) -> None:
    found = answer(why, "head.weight", recording)
    assert (found["parameter"], found["reached"], found["backward"]) == ("head.weight", True, 3)
    assert [one["name"] for one in found["path"]][:3] == ["MeanBackward0", "PowBackward0", "AddmmBackward0"]
    assert found["path"][-1]["name"].endswith("AccumulateGrad head.weight")


def test_the_place_where_it_is_cut(recording: Path) -> None:
    found = answer(why, "encoder.weight", recording)
    assert (found["reached"], found["code"]) == (False, "GS721")
    assert found["cut"]["line"] == line(".detach()")
    assert found["path"][-1]["site"]["line"] == line(".detach()")


def test_the_text_says_the_line_to_edit(recording: Path) -> None:
    assert f"detach_between_layers.py:{line('.detach()')}  GS721" in ask(why, "encoder.bias", recording)


def test_a_name_that_may_mean_two_is_refused(recording: Path) -> None:
    with pytest.raises(UsageError, match=r"encoder\.weight, head\.weight"):
        ask(why, "weight", recording)


def test_an_unknown_name_gets_a_hint(recording: Path) -> None:
    with pytest.raises(UsageError) as caught:
        ask(why, "encoder.wieght", recording)
    assert "encoder.weight" in caught.value.hint


def test_a_variable_has_a_writer_a_saver_and_a_reader(recording: Path) -> None:
    found = answer(who, "features", recording)
    touches = [(one["how"], one["what"], one["site"]["line"]) for one in found["touches"]]
    relu = line("torch.relu")
    assert touches == [
        ("wrote", "aten.relu.default", relu),
        ("saved", "aten.relu.default", relu),
        ("read", "aten.detach.default", line(".detach()")),
    ]


def test_a_line_means_what_it_made(recording: Path) -> None:
    found = answer(who, f"{SCRIPT.name}:{line('torch.relu')}", recording)
    assert found["tensor"] == answer(who, "features", recording)["tensor"]


def test_a_parameter_is_written_by_its_optimizer(recording: Path) -> None:
    found = answer(who, "head.weight", recording)
    assert [one["site"]["line"] for one in found["touches"] if one["how"] == "wrote"][-1] == line("optimizer.step()")


def test_a_tensor_that_is_not_there_is_refused(recording: Path) -> None:
    with pytest.raises(UsageError, match="there is no tensor nonsense"):
        ask(who, "nonsense", recording)
