"""The snippets for CI in docs/check-function.md do what the page says, on a small project."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from gradscope.cli import gradscope

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "check-function.md").read_text(encoding="utf-8").partition("## In CI")[2]
GITHUB, GITLAB, PRE_COMMIT = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
LINE = re.compile(r"(?:run|script|entry): gradscope (.+)")
COMMANDS = LINE.findall(GITHUB + GITLAB + PRE_COMMIT)
PYTEST = re.findall(r"^pytest (--.+)$", PAGE, re.MULTILINE)
FIXTURE = re.search(r"```python\n(def test_.*?)```", PAGE, re.DOTALL)[1]
RIGHT = """
import torch

class MyFn(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.power = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None

MyFn_inputs = (torch.rand(3) + 0.5, 2)
"""
FAULTY = RIGHT.replace("grad * ctx.power", "grad")


@pytest.fixture(params=[RIGHT, FAULTY], ids=["right", "faulty"])
def project(request, tmp_path, monkeypatch):
    """A project whose Function is right or faulty; the value says which."""
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "__init__.py").touch()
    (tmp_path / "mypkg" / "functions.py").write_text(request.param)
    (tmp_path / "test_mine.py").write_text(f"import torch\nfrom mypkg.functions import MyFn\n\n{FIXTURE}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield request.param
    for name in ("mypkg", "mypkg.functions"):
        sys.modules.pop(name, None)


def run(line):
    return CliRunner().invoke(gradscope, shlex.split(line), standalone_mode=False)


def pytest_run(line):
    """pytest in a process of its own, with the plugin of this checkout."""
    plugins = ["-p", "gradscope.pytest_plugin", "-p", "no:cacheprovider"]
    arguments = [sys.executable, "-m", "pytest", *plugins, "-c", os.devnull, "--rootdir", ".", *shlex.split(line)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}.", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)


def test_the_page_has_commands_for_all():
    assert (len(COMMANDS), len(PYTEST)) == (4, 1)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_fails_for_faults_alone(project, line):
    faulty = project == FAULTY and "--exit-zero" not in line
    assert run(line).return_value == (1 if faulty else 0)


def test_githubs_code_scanning_uploads_what_was_written(project):
    run(LINE.search(GITHUB)[1])
    uploaded = Path(re.search(r"sarif_file: (\S+?)}", GITHUB)[1])
    levels = {result["level"] for result in json.loads(uploaded.read_text())["runs"][0]["results"]}
    assert ("error" in levels) == (project == FAULTY)


def test_githubs_step_that_may_fail_is_the_last():
    assert ["--exit-zero" in line for line in LINE.findall(GITHUB)] == [True, False]


def test_gitlab_keeps_what_was_written(project):
    run(LINE.search(GITLAB)[1])
    kept = Path(re.search(r"junit: (\S+?)}", GITLAB)[1])
    assert ElementTree.parse(kept).getroot().get("failures") == str(int(project == FAULTY))


def test_pre_commit_runs_for_the_file_that_is_checked():
    pattern = re.search(r"files: (\S+)", PRE_COMMIT)[1]
    assert re.search(pattern, "mypkg/functions.py")


def test_pytest_fails_for_faults_alone(project):
    done = pytest_run(PYTEST[0])
    assert done.returncode == int(project == FAULTY), done.stdout
    assert "gradscope[MyFn]" in Path("gradscope.xml").read_text()
