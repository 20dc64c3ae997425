"""What cannot be recorded is refused in one line, before the program starts; what was recorded is summed up."""

import re

import pytest

from tests.torch_versions import spoken

PROGRAM = "print('ran')"
BACKWARD = "import torch; torch.ones(2, requires_grad=True).sum().backward()"


def refusals(folder):
    (folder / "taken.gscope").touch()
    (folder / "folder").mkdir()
    (folder / "empty").mkdir()
    (folder / "empty" / "__init__.py").touch()
    return folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "taken.gscope", "-c", PROGRAM], "taken.gscope exists already"),
        (["-o", "folder", "-c", PROGRAM], "folder is not a regular file"),
        (["-o", "nowhere/run.gscope", "-c", PROGRAM], "the folder nowhere does not exist"),
        (["-o", "recordings/", "-c", PROGRAM], "recordings/ names a folder"),
        (["missing.py"], "there is no script missing.py"),
        (["folder"], "there is no script folder"),
        (["-m", "missing"], "there is no module missing to run"),
        (["-m", "empty"], "there is no module empty to run"),
        (["-m", "empty.missing"], "there is no module empty.missing to run"),
        ([], "there is nothing to run"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_is_refused_in_one_line_and_a_hint(side_by_side, tmp_path, arguments, sentence):
    run = side_by_side.gradscope(refusals(tmp_path), "trace", *arguments)
    first, hint = run.stderr.splitlines()
    assert (run.stdout, first, run.status) == ("", f"gradscope: {sentence}", 2)
    assert hint.startswith("  hint: ")


def test_force_replaces_a_recording(side_by_side, tmp_path):
    run = side_by_side.gradscope(refusals(tmp_path), "trace", "-f", "-o", "taken.gscope", "-c", PROGRAM)
    assert (run.stdout, run.status) == ("ran\n", 0)


def test_the_summary_names_the_recording_and_the_next_command(side_by_side, tmp_path):
    run = side_by_side.gradscope(tmp_path, "trace", "-o", "run.gscope", "-c", BACKWARD)
    summary, following = spoken(run.stderr)
    assert run.stdout == ""
    assert re.fullmatch(r"gradscope: 1 backward call, 2 nodes, \d+ kB, [\d.]+ m?s -> run\.gscope", summary)
    assert following == "gradscope: next: gradscope graph run.gscope"


def test_the_summary_says_what_was_left_out(side_by_side, tmp_path):
    run = side_by_side.gradscope(tmp_path, "trace", "--keep-last", "1", "-o", "run.gscope", "-c", f"{BACKWARD}\n" * 3)
    assert "gradscope: left out: 2 steps before the last ones of --keep-last" in run.stderr.splitlines()


def test_the_usual_name_holds_the_script_and_the_process(side_by_side, tmp_path):
    (tmp_path / "train.py").write_text(f"import os; print(os.getpid())\n{BACKWARD}")
    run = side_by_side.gradscope(tmp_path, "trace", "train.py")
    assert (tmp_path / f"train.{run.stdout.strip()}.gscope").is_file()


def test_quiet_says_nothing(side_by_side, tmp_path):
    run = side_by_side.gradscope(tmp_path, "trace", "-q", "-c", BACKWARD)
    assert (run.stdout, run.stderr, run.status) == ("", "", 0)
