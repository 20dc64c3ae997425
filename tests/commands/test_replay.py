"""`gradscope replay`, as typed."""

from __future__ import annotations

import json
import runpy
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

import gradscope
from gradscope.commands.replay import command
from gradscope.errors import NothingCheckedError, UsageError
from tests import by_hand
from tests.recordings import Writer, write, write_backward, write_graph, write_measurement


def run(path: Path, *arguments: str, typed: str | None = None, status: int = 0) -> str:
    result = CliRunner().invoke(
        command, [str(path), "-q", *arguments], input=typed, catch_exceptions=False, standalone_mode=False
    )
    assert (result.return_value or 0) == status
    return result.stdout


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """By hand, with times, statistics, operators and a nested backward in it."""
    writer = Writer(tmp_path / "a.gscope")
    for name in ("argv", "cwd", "gradscope", "torch", "python", "platform", "pid", "detail", "started", "environment"):
        value = getattr(by_hand.RUN, name)
        writer.insert("run", name, json.dumps(list(value) if isinstance(value, tuple) else value))
    graph = by_hand.small()
    write_graph(writer, 1, graph)
    write_backward(writer, 1, graph)
    ran = [(node, 0, node * 0.001, 0.0005) for node in range(6)]
    gradients = [(0, 0, 0, 1.0, 1.0, 0.0, 0, 0), (1, 1, 0, 0.25, 0.125, 0.5, 2, 1)]
    write_measurement(writer, 0, range(6), ran, gradients)
    writer.insert("block", 1, 2, 0)
    writer.insert("block_run", 0, 1, 0, 0, 0.0, None, 1)
    for number, name in enumerate(("aten.mm.default", "aten.mm.default", "aten.t.default")):
        writer.insert("operation", 1, number, writer.string(name), 0, 0, 2, 1)
    return writer.close()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real recording: backward 0 of everything, 1 with inputs=."""
    path = tmp_path_factory.mktemp("live") / "run.gscope"
    torch.manual_seed(0)
    for _ in range(3):
        torch.ones(1, requires_grad=True).exp()  # so that no node below has sequence number 0
    with gradscope.record(path, detail="full", tensors=True):
        first, second = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
        x = torch.randn(3, 3, requires_grad=True)
        output = ((x @ first).relu() @ second).exp().sum()
        output.backward(retain_graph=True)
        torch.autograd.grad(output, [x])
    return path


def test_the_listing(small: Path, golden: Callable[[str, str], None]) -> None:
    golden("replay.txt", run(small))


def test_the_json(small: Path, golden: Callable[[str, str], None]) -> None:
    text = run(small, "--fmt", "json")
    page = json.loads(text)
    assert page.pop("recording") == str(small)
    assert page.pop("gradscope") == gradscope.__version__
    golden("replay.json", json.dumps(page, indent=1) + "\n")


def test_its_lines_keep_to_the_terminal(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradscope.commands.options.to_terminal", lambda output: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(small, "--color", "never").splitlines())) <= 80


def test_a_part_of_it(small: Path) -> None:
    page = json.loads(run(small, "--fmt", "json", "--from", "swish", "--until", "linear.bias"))
    assert [step["node"] for step in page["steps"]] == [1, 2, 3]
    with pytest.raises(UsageError, match="no step"):
        run(small, "--from", "Conv")


def test_walking_by_commands(small: Path) -> None:
    commands = ["n", "next 2", "b", "where", "queue", "until linear.weight", "find accumulate", "u Mean", "back x"]
    typed = "\n".join([*commands, "nonsense", "", "help", "quit", "n"])
    said = run(small, "--step", typed=typed)
    heads = [line.split()[0] for line in said.splitlines() if line.startswith("#")]
    assert heads == ["#0", "#1", "#3", "#2", "#5", "#3", "#5"]
    for words in (
        "train.py:20  in forward",
        "AccumulateGrad linear.bias [3], TBackward0 [4], PowBackward0 [6]",
        "no later step is at 'Mean'",
        "'x' is no number of steps",
        "there is no command 'nonsense'; help lists them",
        "this is the last step",
        "next [N]",
    ):
        assert words in said


def test_the_end_of_the_input_ends_the_walk(small: Path) -> None:
    assert run(small, "--step", typed="n").count("queue") == 2


def test_other_priorities(live: Path) -> None:
    """A leaf's gradient is added at once; with a low priority, last of all."""
    before = json.loads(run(live, "--backward", "0", "--fmt", "json"))
    assert before["differences"] == []
    leaf = before["steps"][3]
    assert (leaf["name"], leaf["seq_nr"]) == ("torch::autograd::AccumulateGrad", None)
    priority = f"{leaf['node']}=0"
    after = json.loads(run(live, "--backward", "0", "--fmt", "json", "--priority", priority))
    assert after["order_source"] == "predicted"
    assert after["priorities"] == [{"node": leaf["node"], "seq_nr": 0}]
    assert {"node": leaf["node"], "before": 3, "after": 7} in after["moves"]
    assert "5 nodes would run at another place" in run(live, "--backward", "0", "--priority", priority)
    assert "another order" in run(live, "--backward", "0", "--execute", "--priority", priority)


@pytest.mark.parametrize("text", ["1", "1=", "1=-1", "1=x", f"1={2**64}", "99=1"])
def test_priorities_that_are_none(live: Path, text: str) -> None:
    with pytest.raises(UsageError):
        run(live, "--backward", "0", "--priority", text)


def test_other_inputs_and_what_they_spare(live: Path) -> None:
    whole = json.loads(run(live, "--backward", "0", "--fmt", "json"))
    assert whole["waste"] is None
    leaves = [step for step in whole["steps"] if step["name"].endswith("AccumulateGrad")]
    asked = json.loads(run(live, "--backward", "0", "--fmt", "json", "--inputs", str(leaves[0]["node"])))
    assert asked["waste"]["left_out"]
    assert len(asked["steps"]) < len(whole["steps"])


def test_what_was_spared(live: Path) -> None:
    waste = json.loads(run(live, "--backward", "1", "--fmt", "json"))["waste"]
    assert len(waste["not_computed"]) == 2
    assert (waste["wasted"], waste["certain"]) == ([], True)
    assert waste["seconds_spared"] > 0
    text = run(live, "--backward", "1")
    assert "inputs= leaves out 2 nodes, and 2 gradients of nodes that run: " in text
    assert "not asked for (AccumulateGrad" in text


def test_the_hessian_sample_shows_the_weights_gradients_skipped(tmp_path: Path) -> None:
    path, script = tmp_path / "run.gscope", Path(__file__).parents[2] / "sample_scripts" / "hessian.py"
    with gradscope.record(path, detail="full", steps="0:3"):
        runpy.run_path(str(script))
    first, second = (json.loads(run(path, "--backward", number, "--fmt", "json")) for number in "01")
    with gradscope.load(path) as recording:
        graph = recording.graph(0)
    leaves = {node.id for node in graph.nodes if node.accumulates}
    ran = {step["node"] for step in first["steps"] if step["position"] is not None}
    assert len(leaves) == 8
    assert leaves & ran == set()
    assert len(first["waste"]["not_computed"]) == 6
    assert [edge["output"] for edge in first["waste"]["wasted"]] == [1]
    assert first["waste"]["flops_spared"] > 0.4 * first["waste"]["flops_run"]
    assert second["waste"]["left_out"]
    assert second["waste"]["not_computed"]


def test_running_it_again(live: Path) -> None:
    assert "nodes equal to the bit\n" in run(live, "--backward", "0", "--execute")
    page: dict[str, Any] = json.loads(run(live, "--backward", "1", "--execute", "--fmt", "json"))
    assert {node["status"] for node in page["nodes"]} == {"equal"}
    assert (page["first"], page["recorded_order"]) == (None, True)


def test_a_difference_is_a_finding(live: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gscope"
    shutil.copy(live, broken)
    with closing(sqlite3.connect(broken)) as database, database:
        database.execute('UPDATE dispatch SET results = replace(results, \'"digest": "\', \'"digest": "0\')')
    text = run(broken, "--backward", "0", "--execute", status=1)
    assert "the first that differs: SumBackward0" in text
    assert "so it is not chance" in text


def test_nothing_to_run_again(small: Path) -> None:
    for arguments in (("--execute",), ("--extract", "0")):
        with pytest.raises(NothingCheckedError, match="holds no tensors"):
            run(small, *arguments)


def test_a_script_of_one_node(live: Path, tmp_path: Path) -> None:
    script = tmp_path / "relu.py"
    run(live, "--backward", "0", "--extract", "relu", "-o", str(script))
    done = subprocess.run([sys.executable, "-P", str(script)], capture_output=True, text=True, cwd="/", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "aten.threshold_backward.default" in done.stdout
    with pytest.raises(UsageError, match="exists"):
        run(live, "--backward", "0", "--extract", "relu", "-o", str(script))
    with pytest.raises(UsageError, match="no Python script"):
        run(live, "--backward", "0", "--extract", "relu", "-o", str(tmp_path / "relu"))


@pytest.mark.parametrize(
    "arguments", [("--step", "--execute"), ("--execute", "--inputs", "0"), ("--step", "--fmt", "json")]
)
def test_what_does_not_go_together(small: Path, arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        run(small, *arguments)


def test_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gscope", by_hand.hostile())
    typed = "where\nqueue\nfind a\n" + "n\n" * 12
    for text in (run(path), run(path, "--step", typed=typed)):
        assert not any(ord(character) < 32 and character != "\n" for character in text)


def test_reading_loads_no_torch(small: Path) -> None:
    program = (
        "import sys\nfrom gradscope.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit as end: assert end.code == 0, end.code\n"
        "assert not {name for name in sys.modules if name.partition('.')[0] in ('torch', 'rich')}"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "replay", "-q", str(small)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
