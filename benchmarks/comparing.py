"""What `gradscope diff` costs: `python benchmarks/comparing.py` prints it; CPU seconds of the whole process.

Two programs differ in one operator of their last step. In one pair steps repeat, as those of a training do; in the
other no step is like another, so that nothing is stored once and every operator is read and compared. Python keeps
its byte code, as an installed package's is kept: compiling gradscope anew each time is no part of a comparison.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
GPT = """
import sys
sys.path.insert(0, {benchmarks!r})
from workloads import gpt
_, _, step = gpt(4)
for number in range({steps}):
    step()
    if number == {steps} - 1:
        import torch
        {edit}
        step()
"""
VARIED = """
import random
import torch
UNARY = (torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.relu, torch.neg, torch.clone)
chosen = random.Random(0)
weight = torch.ones(8, requires_grad=True)
for number in range({steps}):
    value = weight
    for _ in range({operators}):
        value = chosen.choice(UNARY)(value)
    if number == {steps} - 1:
        {edit}
    value.sum().backward()
"""


def recorded(folder: Path, name: str, text: str) -> Path:
    """A recording of a program."""
    script, path = folder / f"{name}.py", folder / f"{name}.gscope"
    script.write_text(text)
    command = [sys.executable, "-m", "gradscope", "trace", "-q", "-f", "--watch-all", "-o", str(path), str(script)]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return path


def cost(first: Path, second: Path) -> float:
    """The least CPU time of several comparisons."""
    command = [sys.executable, "-m", "gradscope", "diff", "-q", str(first), str(second)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(first.parent / "bytecode")
    least = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 1, done.stderr
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def operators(path: Path) -> int:
    """How many a recording holds."""
    import gradscope

    with gradscope.load(path) as recording:
        return recording.census().operations


def main() -> None:
    """Print a line for each pair."""
    pairs = (
        ("a GPT's steps", GPT, {"benchmarks": str(ROOT / "benchmarks"), "steps": 8}),
        ("steps that never repeat", VARIED, {"steps": 52, "operators": 100}),
        ("steps that never repeat", VARIED, {"steps": 5000, "operators": 100}),
    )
    for name, text, values in pairs:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            files = [
                recorded(folder, side, text.format(**values, edit=edit))
                for side, edit in (("one", "pass"), ("two", "torch.ones(2) * 2"))
            ]
            print(f"{name}: {operators(files[0]):,} operators in each, {cost(*files):.2f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
