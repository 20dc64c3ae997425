"""`gradscope graph`, as typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gradscope.commands.graph import command
from gradscope.errors import Exit, GradscopeError, NothingCheckedError, UnreadableError, UsageError
from gradscope.model.graph import Graph
from tests import by_hand
from tests.recordings import write
from tests.torch_versions import needs_saved_tensors

ROOT = Path(__file__).parents[2]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    second = replace(by_hand.chain(3), backward=replace(by_hand.chain(3).backward, number=1, step=1))
    return write(tmp_path / "train.py.4242.gscope", by_hand.small(), second)


def run(*arguments: object) -> Result:
    """Run it in this process; errors come out as they are."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if isinstance(result.exception, GradscopeError):
        raise result.exception
    return result


def gradscope(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it as a program."""
    return subprocess.run(
        [sys.executable, "-m", "gradscope", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )


def test_the_last_backward_is_drawn_as_text(recording: Path) -> None:
    result = run(recording)
    assert result.stdout.startswith("train.py, backward 1: 3 nodes, 2 edges\n")
    assert result.stderr == ""
    assert result.stdout == run(recording, "--backward", "1").stdout == run(recording, "--backward", "last").stdout


def test_another_backward_by_number(recording: Path) -> None:
    page = json.loads(run(recording, "--backward", "0", "--fmt", "json").stdout)
    assert len(page["nodes"]) == 7
    assert page["backward"]["number"] == 0
    assert page["recording"] == str(recording)


def test_the_newest_recording_is_taken_and_named_on_stderr(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recording.parent)
    result = run("--fmt", "json")
    assert json.loads(result.stdout)
    assert "reading train.py.4242.gscope, the newest recording" in result.stderr
    assert run("-q").stderr == ""


@pytest.mark.parametrize("backward", ["-1", "first", "1.5", "", "\u0663", "9" * 40])
def test_a_backward_that_is_no_number(recording: Path, backward: str) -> None:
    with pytest.raises(UsageError, match="takes a number"):
        run(recording, f"--backward={backward}")


def test_a_backward_that_is_not_there(recording: Path) -> None:
    with pytest.raises(UsageError, match="no backward 7"):
        run(recording, "--backward", "7")


def test_output_guesses_the_format_and_is_not_replaced(recording: Path, tmp_path: Path) -> None:
    output = tmp_path / "graph.dot"
    result = run(recording, "-o", output)
    assert output.read_text(encoding="utf-8").startswith("digraph")
    assert result.stdout == ""
    assert "wrote" in result.stderr
    with pytest.raises(UsageError, match="exists"):
        run(recording, "-o", output)
    assert run(recording, "-o", output, "-f", "-q").stderr == ""


def test_output_dash_is_standard_output(recording: Path) -> None:
    assert run(recording, "-o", "-").stdout == run(recording).stdout


def test_output_that_cannot_be_written(recording: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        run(recording, "-o", tmp_path / "none" / "graph.txt")


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(NothingCheckedError, match="no backward call"):
        run(write(tmp_path / "a.gscope"))


def test_not_a_recording() -> None:
    with pytest.raises(UnreadableError):
        run(__file__)


def test_colour(recording: Path) -> None:
    assert "\x1b[" in run(recording, "--color", "always").stdout
    assert "\x1b[" not in run(recording, "--color", "never").stdout


def test_exit_statuses_and_one_sentence(recording: Path, tmp_path: Path) -> None:
    done = gradscope("graph", recording)
    assert (done.returncode, done.stderr) == (Exit.OK, "")
    done = gradscope("graph", tmp_path / "none.gscope")
    assert (done.returncode, done.stdout) == (Exit.UNREADABLE, "")
    assert done.stderr.startswith("gradscope: ")
    assert "Traceback" not in done.stderr
    assert gradscope("graph", write(tmp_path / "b.gscope")).returncode == Exit.NOTHING_CHECKED


def test_a_narrow_encoding_gets_ascii(recording: Path) -> None:
    done = gradscope("graph", recording, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == Exit.OK
    assert "`-- #" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    "graph", [by_hand.small(), by_hand.hostile(), by_hand.measured([], [])], ids=["small", "hostile", "empty"]
)
@pytest.mark.parametrize("fmt", ["text", "json", "dot", "mermaid", "svg", "pdf"])
def test_formats_from_a_file(graph: Graph, fmt: str, tmp_path: Path) -> None:
    assert run(write(tmp_path / "a.gscope", graph), "--fmt", fmt).exit_code == 0


PROGRAM = """
import sys
from gradscope.cli import main
try:
    main(sys.argv[1:])
finally:
    assert "torch" not in sys.modules
    assert "numpy" not in sys.modules
"""


@pytest.mark.parametrize("arguments", [["graph"], ["graph", "--fmt", "json"], ["graph", "--fmt", "dot"], ["info"]])
def test_reading_loads_no_torch(recording: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, str(recording)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_pictures_say_which_engine_drew(recording: Path, tmp_path: Path) -> None:
    result = run(recording, "-o", tmp_path / "a.svg", "--engine", "builtin")
    assert "the built-in layout drew 3 boxes" in result.stderr
    assert run(recording, "-q", "-f", "-o", tmp_path / "a.svg", "--engine", "builtin").stderr == ""


def test_pdf_is_bytes_on_standard_output(recording: Path) -> None:
    assert run(recording, "--fmt", "pdf", "--engine", "builtin").stdout_bytes.startswith(b"%PDF-1.4")


def dot(recording: Path, *arguments: str) -> str:
    return run(recording, "--backward", "0", "--fmt", "dot", *arguments).stdout


def test_each_rule_has_its_switch(recording: Path) -> None:
    assert dot(recording).count("AccumulateGrad") == 0
    assert dot(recording, "--params").count("<b>AccumulateGrad</b>") == 2
    assert "bias" not in dot(recording, "--no-params")
    assert dot(recording, "--no-fold").count("<b>TBackward0</b>") == 1
    assert dot(recording, "--keep", "T*").count("<b>TBackward0</b>") == 1
    assert dot(recording, "--focus", "#0", "--radius", "1").count("<b>") == 2
    assert "5 nodes further away" in dot(recording, "--focus", "#0", "--radius", "1")
    assert "rankdir=LR" in dot(recording, "--direction", "right")
    assert "#0d1117" in dot(recording, "--theme", "dark")


def test_text_has_a_focus_too_and_may_leave_parameters_out(recording: Path) -> None:
    lines = run(recording, "--backward", "0", "--focus", "SwishBackward", "--radius", "0").stdout.splitlines()
    assert [line.split()[-2] for line in lines[3:]] == ["swish.py:5"]
    assert "AccumulateGrad" not in run(recording, "--backward", "0", "--no-params").stdout


def test_show_takes_a_list(recording: Path) -> None:
    assert "mat1  float32[8, 3]  96 B" in dot(recording, "--show", "saved,order")
    assert "#2-5" not in dot(recording, "--show", "saved")
    assert "tensor hook main.&lt;locals&gt;.clip" in dot(recording, "--show", "all")
    with pytest.raises(UsageError, match="--show knows no 'colours'") as caught:
        dot(recording, "--show", "saved,colours")
    assert "saved,hooks,order,grads,levels,findings" in caught.value.hint


@needs_saved_tensors
def test_what_a_finding_points_at_is_marked(tmp_path: Path) -> None:
    """A recorded program: the sample of an in-place edit."""
    script = ROOT / "sample_scripts" / "faults" / "inplace" / "running_buffer.py"
    done = gradscope("trace", "-q", "-o", tmp_path / "a.gscope", script)
    assert done.returncode != 0
    assert "GS701 inplace-on-saved" in run(tmp_path / "a.gscope", "--fmt", "dot", "--show", "findings").stdout


def test_a_page_says_which_options_are_not_for_it(recording: Path) -> None:
    done = run(recording, "--fmt", "html", "--show", "saved", "--engine", "dot", "--theme", "dark")
    assert "a page shows everything and draws itself: --show and --engine are not used" in done.stderr
    assert "not used" not in run(recording, "--fmt", "html", "--theme", "dark").stderr


def test_boxes_take_a_colour_in_pictures_and_text_takes_none(recording: Path) -> None:
    assert "saved bytes: " in dot(recording, "--backward", "0", "--color", "bytes")
    with pytest.raises(UsageError, match="--color bytes is for pictures and pages"):
        run(recording, "--color", "bytes")


@pytest.mark.parametrize("arguments", [("--keep", "nothing*"), ("--focus", "#99")])
def test_names_that_mean_nothing(recording: Path, arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no node of this backward"):
        dot(recording, *arguments)


def test_a_device_is_no_file_to_protect(recording: Path) -> None:
    assert run(recording, "-o", os.devnull).exit_code == 0
