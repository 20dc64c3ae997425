"""`gradscope joint`: what is compiled here and what a program compiled look the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "sample_scripts" / "compiled.py"


def gradscope(*arguments: object, status: int = 0) -> str:
    command = [sys.executable, "-W", "ignore", "-m", "gradscope", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("joint") / "compiled.gscope"
    gradscope("trace", "--joint", "-q", "-o", path, SCRIPT)
    return path


@pytest.fixture(scope="module")
def recorded(recording: Path) -> Any:
    return json.loads(gradscope("joint", recording, "--fmt", "json"))


def test_a_recording_holds_what_the_program_compiled(recorded: Any) -> None:
    (region,) = recorded["regions"]
    assert region["name"] == "forward"
    assert region["site"]["source"] == "def forward(self, x):"
    assert [cut["name"] for cut in region["partitions"] if cut["used"]] != []
    assert all(node["site"] for node in region["nodes"] if node["op"] != "input")


def test_the_same_compiled_here_saves_the_same(recorded: Any) -> None:
    arguments = ("--inputs", "sample_scripts.compiled:batch", "--fmt", "json", "--diff")
    live = json.loads(gradscope("joint", "sample_scripts.compiled:Block", *arguments))
    there, here = (
        {cut["name"]: cut["saved_bytes"] for cut in of["regions"][0]["partitions"]} for of in (recorded, live)
    )
    assert {name: there[name] for name in here} == here
    assert live["eager"]


def test_text_says_what_is_saved_first(recording: Path) -> None:
    text = gradscope("joint", recording, "--no-nodes")
    assert text.startswith("region 0, forward:")
    assert "self.norm1.weight" in text
    assert "min-cut" in text
    assert "self.seen is written in place" in text
    assert "compiled.py:" in text


def test_nodes_are_listed_with_their_remarks(recording: Path) -> None:
    text = gradscope("joint", recording)
    assert "addition of gradients because" in text
    assert "gradient of self.qkv.weight" in text


def test_dot_has_both_halves(recording: Path) -> None:
    dot = gradscope("joint", recording, "--fmt", "dot", "--partition", "min-cut")
    assert "region 0 forward" in dot
    assert "region 0 backward" in dot
    assert "is saved for the backward" in dot


def test_reading_loads_no_torch(recording: Path) -> None:
    code = f"import sys; sys.argv = ['gradscope', 'joint', {str(recording)!r}]\n"
    code += "from gradscope.cli import main\ntry: main()\nfinally: print('torch' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--region", "7"), "there is no region 7"),
        (("--partition", "best"), "there is no partition 'best' of region 0"),
        (("--diff",), "are for functions, not for recordings"),
    ],
)
def test_what_is_not_there_is_one_sentence(recording: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in gradscope("joint", recording, *arguments, status=2)


def test_a_recording_without_joint_graphs_says_how_to_get_one(tmp_path: Path) -> None:
    gradscope("trace", "-q", "-o", tmp_path / "a.gscope", "-c", "import torch")
    assert "trace --joint" in gradscope("joint", tmp_path / "a.gscope", status=4)
