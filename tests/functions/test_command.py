"""The command line: names, inputs, exits."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradscope.commands.check_function import command, so_far
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.report import Unimported
from tests.functions.test_formats import FINDING, SUBJECT, UNCHECKED

CASES = "tests.functions.cases.choices"
RIGHT = """
import torch
class Right(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x): return x * x
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, grad): return 2 * ctx.saved_tensors[0] * grad
Right_inputs = (torch.rand(3) + 0.5,)
"""


def run(*arguments):
    return CliRunner().invoke(command, [*arguments, "-q"], standalone_mode=False, catch_exceptions=True)


@pytest.mark.parametrize(
    "name", [f"{CASES}.Combined", f"{CASES}:Combined", "tests/functions/cases/choices.py:Combined"]
)
def test_names_are_accepted_with_dots_colons_and_paths(name):
    result = run(name, "--level", "func", "--fmt", "json")
    assert result.return_value == 1
    assert json.loads(result.stdout)["subjects"][0]["function"] in (f"{CASES}.Combined", "choices.Combined")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((), 0),
        (("--level", "func"), 1),
        (("--level", "func", "--exit-zero"), 0),
        (("--level", "func", "--fail-on", "never"), 0),
        (("--level", "eager"), 0),
        (("--level", "eager", "--fail-on", "warning"), 1),
    ],
)
def test_exit_statuses(arguments, status):
    assert run(f"{CASES}.Combined", *arguments).return_value == status


def test_nothing_checked_is_4():
    assert run(f"{CASES}.Unguessable", "--level", "eager").return_value == 4
    assert run(f"{CASES}.Unguessable", "--spec", "randn(7,11,13)", "--level", "eager").return_value == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nosuch.mod.Fn"], "there is no module 'nosuch'"),
        ([f"{CASES}.Nope"], "has no attribute 'Nope'"),
        (["a b"], "is not a dotted name"),
        (["nosuch.py"], "there is no file nosuch.py"),
        (["nosuch/"], "there is no folder nosuch/"),
        ([f"{CASES}.Combined", "--spec", "randn(3"], "--spec, column"),
        ([f"{CASES}.Combined", "--inputs", f"{CASES}.broken_factory"], "raises RuntimeError: no data today"),
        ([f"{CASES}.Combined", "--inputs", "sys.path"], "neither a tuple"),
        ([f"{CASES}.Combined", "--inputs", "randn(3), 1.5"], "the name of a callable or of data"),
        ([f"{CASES}.Combined", "--inputs", "a.b", "--spec", "None"], "both give inputs"),
        ([f"{CASES}.Combined", "--device", "toaster"], "is no device"),
        ([f"{CASES}.Combined", "--reference", f"{CASES}.torch.float32"], "is not callable"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    error = run(*arguments).exception
    assert isinstance(error, UsageError)
    assert sentence in error.sentence


def test_an_import_that_raises_shows_the_users_lines(tmp_path, monkeypatch):
    (tmp_path / "breaks.py").write_text("def f():\n    return 1 / 0\nf()\n")
    monkeypatch.chdir(tmp_path)
    error = run("breaks.Fn").exception
    assert "importing breaks raises ZeroDivisionError" in error.sentence
    assert "return 1 / 0" in error.hint
    assert "importlib" not in error.hint


def test_modules_patterns_and_several_names(tmp_path, monkeypatch):
    (tmp_path / "rightmod.py").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    result = run("rightmod", "--fmt", "json")
    assert result.return_value == 0
    assert json.loads(result.stdout)["subjects"][0]["inputs"] == "declared"
    assert isinstance(run("rightmod", "--pattern", "W*").exception, NothingCheckedError)


def test_a_base_without_forward_is_checked_only_by_name(tmp_path, monkeypatch):
    (tmp_path / "basemod.py").write_text(
        RIGHT.replace("Right", "Base").replace("    @staticmethod\n    def forward(x): return x * x\n", "")
        + "class Right(Base):\n    @staticmethod\n    def forward(x): return x * x\nRight_inputs = Base_inputs\n"
    )
    monkeypatch.chdir(tmp_path)
    subjects = json.loads(run("basemod", "--fmt", "json").stdout)["subjects"]
    assert [subject["function"] for subject in subjects] == ["basemod.Right"]
    named = json.loads(run("basemod.Base", "--fmt", "json").stdout)
    assert [found["code"] for found in named["findings"]] == ["GS102"]


def test_given_inputs_are_named_and_all_run():
    result = run(f"{CASES}.Reversal", "--custom-gradient", "--inputs", f"{CASES}.factory", "--fmt", "json")
    subject = json.loads(result.stdout)["subjects"][0]
    assert subject["inputs"] == "given"
    assert subject["rests_on"] == "(float32[3]); (float32[2, 2])"


def test_output_goes_to_a_file_and_is_not_overwritten(tmp_path):
    target = tmp_path / "report.sarif"
    assert run(f"{CASES}.Combined", "--level", "func", "-o", str(target)).return_value == 1
    assert json.loads(target.read_text())["version"] == "2.1.0"
    assert "exists" in run(f"{CASES}.Combined", "-o", str(target)).exception.sentence
    assert run(f"{CASES}.Combined", "--level", "func", "-o", str(target), "-f").return_value == 1


def test_the_working_directory_is_importable(tmp_path):
    (tmp_path / "rightmod.py").write_text(RIGHT)
    arguments = [sys.executable, "-c", "from gradscope.cli import main; main()", "check-function", "rightmod:Right"]
    done = subprocess.run(
        arguments, cwd=tmp_path, capture_output=True, text=True, check=False, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.returncode == 0, done.stderr
    assert "rightmod.Right  (rightmod.py:3): ok" in done.stdout


def test_rule_pages():
    from gradscope.commands.rule import command as rule

    page = CliRunner().invoke(rule, ["gs401"]).output
    assert page.startswith("GS401 wrong-gradient")
    assert "Do instead" in page
    assert "GS101" in CliRunner().invoke(rule, []).output
    assert isinstance(CliRunner().invoke(rule, ["GS999"], standalone_mode=False).exception, UsageError)


def test_a_gradients_shape_on_guessed_inputs_is_a_warning():
    """The second argument is a number for its author, and a guess makes it a tensor that broadcasts."""
    result = run("sample_scripts/custom_functions.py:Quantize", "--level", "eager", "--fmt", "json")
    severities = {found["code"]: found["severity"] for found in json.loads(result.stdout)["findings"]}
    assert severities.get("GS403", "warning") == "warning"


def test_a_packages_progress_says_what_was_found_so_far():
    ok, wrong = (UNCHECKED, ()), (SUBJECT, (FINDING, FINDING))
    assert so_far([]) == so_far([ok, Unimported("pkg.broken", "ImportError")]) == "ok so far"
    assert so_far([ok, wrong]) == "2 errors"
