"""What `gradscope trace` says to its user on standard error."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = "import torch; torch.ones(2, requires_grad=True).sum().backward()"
WRONG = """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * x

Square.apply(torch.ones(2, requires_grad=True)).sum().backward()
print("trained")
"""


def gradscope(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-m", "gradscope", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_the_command_to_type_next_works_as_it_is_printed(tmp_path: Path) -> None:
    script = tmp_path / "my script.py"
    script.write_text(SCRIPT)
    done = gradscope(tmp_path, "trace", script.name)
    assert done.returncode == 0, done.stderr
    *_, following = done.stderr.splitlines()
    first, *command = shlex.split(following.partition("next: ")[2])
    assert first == "gradscope"
    assert gradscope(tmp_path, *command).stdout.startswith("my script.py, backward 0: 2 nodes")


def test_an_unknown_option_is_not_taken_for_a_script(tmp_path: Path) -> None:
    done = gradscope(tmp_path, "trace", "--no-such-option", "train.py")
    assert done.returncode == 2
    assert done.stderr.startswith("gradscope: there is no option --no-such-option\n  hint: ")


def test_a_bug_in_the_explanation_is_one_line_and_not_the_programs(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"{SCRIPT}\nimport gradscope.anomaly\ngradscope.anomaly.explain = None")
    done = gradscope(tmp_path, "trace", script.name)
    assert done.returncode == 0
    assert done.stderr.startswith("gradscope: nothing is explained, because of a bug in gradscope (TypeError: ")
    assert "Traceback" not in done.stderr


def test_functions_are_checked_at_the_end(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(WRONG)
    done = gradscope(tmp_path, "trace", "--check-functions", script.name)
    assert done.returncode == 0
    assert done.stdout == "trained\n"
    assert "GS401" in done.stderr


def test_checking_functions_and_saying_nothing_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = gradscope(tmp_path, "trace", "-q", "--check-functions", script.name)
    assert done.returncode == 2
    assert "leave -q and --no-explain out" in done.stderr
