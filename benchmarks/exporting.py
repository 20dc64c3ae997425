"""What `gradscope export` costs: `python benchmarks/exporting.py` prints CPU seconds of the whole process and memory.

A million operators of a training whose steps repeat, as those of most do, and as many of a program whose steps never
do, so that nothing is stored once. Parquet is left out where pyarrow is not installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from comparing import ROOT, VARIED, operators, recorded

TRAINING = """
import sys
sys.path.insert(0, {benchmarks!r})
from workloads import encoder
_, _, step = encoder(16, 2, 8, 2)
for number in range({steps}):
    step()
"""
PROGRAMS = (
    ("a training", TRAINING, {"benchmarks": str(ROOT / "benchmarks"), "steps": 2560}),
    ("steps that never repeat", VARIED, {"steps": 4300, "operators": 100, "edit": "pass"}),
)
TARGETS = ("perfetto", "parquet") if find_spec("pyarrow") else ("perfetto",)


def cost(path: Path, target: str) -> tuple[float, float, float]:
    """CPU seconds, peak memory in MB, and the size of what was written in MB."""
    output = path.with_suffix(f".{target}")
    command = [sys.executable, "-m", "gradscope", "export", "-q", "-f", "--to", target, "-o", str(output), str(path)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(path.parent / "bytecode")
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    files = [output] if output.is_file() else output.rglob("*.parquet")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, sum(one.stat().st_size for one in files) / 1e6


def main() -> None:
    """Print a line for each recording and target."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    for name, text, values in PROGRAMS:
        with tempfile.TemporaryDirectory() as place:
            path = recorded(Path(place), "run", text.format(**values))
            for target in TARGETS:
                seconds, memory, size = min(cost(path, target) for _ in range(rounds))
                wrote = f"{size:,.0f} MB in {seconds:.2f} s of CPU, {memory:.0f} MB of memory"
                print(f"{name}, {operators(path):,} operators, {target}: {wrote}", flush=True)


if __name__ == "__main__":
    main()
