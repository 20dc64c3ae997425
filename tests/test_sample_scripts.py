"""Every sample script runs alone, from anywhere, and prints the same every time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE_SCRIPTS = sorted((Path(__file__).parent.parent / "sample_scripts").glob("*.py"))


def start(script, directory):
    """The script as a user starts it: no options, another working directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRADSCOPE_")}
    return subprocess.Popen(
        [sys.executable, script],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("script", SAMPLE_SCRIPTS, ids=lambda script: script.stem)
def test_runs_and_prints_the_same_twice(script, tmp_path):
    with start(script, tmp_path) as first, start(script, tmp_path) as second:
        output, problems = first.communicate()
        again, _ = second.communicate()
    assert first.returncode == 0, problems
    assert output.splitlines()[-1].startswith("final loss ")
    assert output == again


@pytest.mark.parametrize("script", SAMPLE_SCRIPTS, ids=lambda script: script.stem)
def test_is_listed_in_the_readme(script):
    assert f"[{script.name}]({script.name})" in (script.parent / "README.md").read_text()
