"""Every sample script runs alone, from anywhere, and prints the same, recorded or not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradscope.store.reader import load

SAMPLE_SCRIPTS = sorted((Path(__file__).parent.parent / "sample_scripts").glob("*.py"))


TRACE = ("-m", "gradscope", "trace", "-q", "-o", "run.gscope")


def start(directory, *arguments):
    """The script as a user starts it: no options, another working directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRADSCOPE_")}
    environment["PYTHONPATH"] = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("script", SAMPLE_SCRIPTS, ids=lambda script: script.stem)
def test_prints_the_same_with_and_without_gradscope(script, tmp_path):
    with start(tmp_path, script) as plain, start(tmp_path, *TRACE, script) as traced:
        output, problems = plain.communicate()
        recorded, problems_too = traced.communicate()
    assert plain.returncode == 0, problems
    assert output.splitlines()[-1].startswith("final loss ")
    assert (recorded, problems_too, traced.returncode) == (output, problems, 0)
    with load(str(tmp_path / "run.gscope")) as recording:
        assert recording.backwards()
        assert recording.faults() == ()


@pytest.mark.parametrize("script", SAMPLE_SCRIPTS, ids=lambda script: script.stem)
def test_is_listed_in_the_readme(script):
    assert f"[{script.name}]({script.name})" in (script.parent / "README.md").read_text()
