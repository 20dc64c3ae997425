"""The pytest plugin, run by pytest in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import torch
from tests.functions.cases.choices import Combined, Reversal, Unguessable

def test_right(check_function):
    assert check_function(Reversal, (torch.rand(3),), custom_gradient=True).subjects

def test_wrong(check_function):
    check_function(Combined, level="func")

def test_unchecked(check_function):
    check_function(Unguessable, level="eager")
"""


def run(folder, *arguments):
    (folder / "test_them.py").write_text(TESTS)
    root = str(Path(__file__).parents[2])
    base = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "gradscope.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        ".",
    ]
    environment = os.environ | {"PYTHONPATH": root, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it may be installed too
    return subprocess.run(
        [*base, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    ).stdout


def test_the_fixture_fails_with_the_findings(tmp_path):
    output = run(tmp_path, "-rA")
    assert "1 failed, 1 passed, 1 skipped" in output
    assert "GS110 error combined-forward" in output


def test_the_option_checks_what_the_modules_import(tmp_path):
    output = run(tmp_path, "--gradscope", "--gradscope-level", "func", "-k", "gradscope", "-rA")
    assert "FAILED test_them.py::gradscope[Combined]" in output
    assert "PASSED test_them.py::gradscope[Reversal]" in output


def test_what_a_configuration_declares_counts(tmp_path):
    (tmp_path / "gradscope.toml").write_text('[tool.gradscope.functions."*.Combined"]\nlevel = "func"\n')
    assert "FAILED test_them.py::gradscope[Combined]" in run(tmp_path, "--gradscope", "-k", "gradscope", "-rA")


def test_a_class_that_declares_no_transforms_promises_none(tmp_path):
    assert "PASSED test_them.py::gradscope[Combined]" in run(tmp_path, "--gradscope", "-k", "gradscope", "-rA")
