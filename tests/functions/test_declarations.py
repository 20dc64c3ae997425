"""What a configuration file says of single Functions."""

import json

import pytest
from click.testing import CliRunner

from gradscope.commands.check_function import command
from gradscope.errors import UsageError
from gradscope.functions.declarations import declared_for, read_declarations

OPS = """
import torch

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * grad
"""
HEAD = '[tool.gradscope.functions."declared_ops.*"]\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "declared_ops.py").write_text(OPS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(command, ["declared_ops.py", "-q", *arguments], standalone_mode=False)


def subjects(*arguments):
    content = json.loads(run("--fmt", "json", *arguments).stdout)
    return content["subjects"][0], {f["code"] for f in content["findings"] if f["severity"] != "info"}


@pytest.mark.parametrize("name", ["gradscope.toml", "pyproject.toml"])
def test_inputs_are_declared_in_either_file(project, name):
    (project / name).write_text(HEAD + 'inputs = "positive(5)"\n')
    subject, codes = subjects()
    assert (subject["inputs"], subject["rests_on"]) == ("declared", "(float32[5])")
    assert codes == {"GS205"}


def test_another_file_can_be_named(project):
    (project / "other.toml").write_text(HEAD + "once_differentiable = true\n")
    assert subjects("--config", "other.toml")[1] == set()


def test_a_code_is_ignored_for_a_reason(project):
    (project / "gradscope.toml").write_text(HEAD + 'ignore = { GS205 = "never differentiated twice" }\n')
    subject, codes = subjects()
    assert (codes, subject["ignored"]) == (set(), 1)


def test_a_function_is_skipped_for_a_reason(project):
    (project / "gradscope.toml").write_text(HEAD + 'skip = "needs a GPU"\n')
    result = run("--fmt", "json")
    assert json.loads(result.stdout)["unchecked"] == [{"function": "declared_ops.Doubled", "reason": "needs a GPU"}]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('inputs = "randn(3"', "column"),
        ("inputs = 3", "inputs must be a text"),
        ('level = "high"', "level must be one of"),
        ('custom_gradient = "yes"', "custom_gradient must be true or false"),
        ("symmetric = [-1]", "symmetric must be a list of places"),
        ("tolerance = 2.0", "tolerance must be a number between 0 and 1"),
        ('ignore = ["GS205"]', "ignore must be a table that gives each code a reason"),
        ('ignore = { GS205 = "" }', "ignore must be a table"),
        ("levle = 1", "there is no setting 'levle'"),
        ("a = [", "is not TOML"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(project, line, sentence):
    (project / "gradscope.toml").write_text(HEAD + line + "\n")
    error = run().exception
    assert isinstance(error, UsageError)
    assert sentence in error.sentence


def test_later_tables_win(project):
    (project / "x.toml").write_text(HEAD + 'level = "eager"\n[tool.gradscope.functions."*.Doubled"]\nlevel = "func"\n')
    assert declared_for("declared_ops.Doubled", read_declarations(project / "x.toml")).level == "func"


def test_init_writes_what_was_found_and_the_next_check_is_silent(project):
    assert run("--init").return_value == 0
    assert 'inputs = "randn(3, 4); randn(4, 4)"' in (project / "gradscope.toml").read_text()
    assert subjects()[1] == set()


def test_init_refuses_to_replace_a_file_before_anything_is_checked(project, monkeypatch):
    monkeypatch.setattr("gradscope.functions.check.check", lambda *arguments: pytest.fail("checked"))
    (project / "gradscope.toml").touch()
    assert isinstance(run("--init").exception, UsageError)


def test_a_file_that_is_not_there(project):
    assert "there is no file nope.toml" in run("--config", "nope.toml").exception.sentence
