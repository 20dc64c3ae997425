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
from tests.torch_versions import needs_saved_tensors

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


def test_a_variable_has_a_writer_and_a_reader(recording: Path) -> None:
    found = answer(who, "features", recording)
    touches = [(one["how"], one["what"], one["site"]["line"]) for one in found["touches"]]
    assert touches == [
        ("wrote", "aten.relu.default", line("torch.relu")),
        ("read", "aten.detach.default", line(".detach()")),
    ]


KEPT = """
import torch
x = torch.ones(3, requires_grad=True)
y = torch.exp(x)
z = y.sin()
z.sum().backward()
"""


@needs_saved_tensors
def test_a_result_is_saved_by_its_own_node_and_by_those_that_read_it(nursery: SideBySide, tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(KEPT)
    _, path = nursery.traced(tmp_path, tmp_path / "kept.py")
    touches = [(one["how"], one["what"], one["site"]["line"]) for one in answer(who, "y", path)["touches"]]
    assert touches == [
        ("wrote", "aten.exp.default", 4),
        ("saved", "ExpBackward0 as result", 4),
        ("read", "aten.sin.default", 5),
        ("saved", "SinBackward0 as self", 5),
        ("read", "aten.cos.default", 6),
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


TIED = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, indices):
        return self.head(self.embed(indices))


net = Net()
loss = net(torch.tensor([1, 2])).sum()
one = loss * 2; two = loss * 3
loss.backward()
"""


@pytest.fixture(scope="module")
def tied(nursery: SideBySide, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tied")
    script = folder / "tied.py"
    script.write_text(TIED, encoding="utf-8")
    _, path = nursery.traced(folder, script)
    return path


@pytest.mark.parametrize("name", ["head.weight", "embed.weight"])
def test_tied_weights_are_known_by_both_of_their_names(name: str, tied: Path) -> None:
    assert answer(who, name, tied)["tensor"] == "embed.weight"
    assert answer(why, name, tied)["parameter"] == "embed.weight"


@pytest.mark.parametrize("name", ["other.weight", "net.loss", "self.loss", "head.loss"])
def test_a_path_that_nothing_assigns_is_no_tensor(name: str, tied: Path) -> None:
    with pytest.raises(UsageError, match="there is no tensor"):
        ask(who, name, tied)


def test_a_line_with_several_statements_does_not_tell(tied: Path) -> None:
    with pytest.raises(UsageError, match="two is assigned on a line with other statements"):
        ask(who, "two", tied)


@pytest.mark.parametrize("command", [who, why])
def test_a_recording_alone_is_no_question(command: Command, tied: Path) -> None:
    with pytest.raises(UsageError, match="is missing") as caught:
        ask(command, tied)
    assert str(tied) in caught.value.hint
