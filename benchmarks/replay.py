"""What `gradscope replay` costs on a large recording: CPU seconds of the whole process, Python's start included.

`python benchmarks/replay.py` records a backward of 1,823 nodes and prints the least of several runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

import gradscope

LAYERS, ROOT = 24, Path(__file__).resolve().parent.parent


def record(path: Path, detail: str) -> int:
    """Record the backward of a TransformerEncoder. Returns its number of nodes."""
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), LAYERS)
    with gradscope.record(path, detail=detail):
        model(torch.randn(2, 4, 16)).square().mean().backward()
    with gradscope.load(path) as recording:
        return len(recording.graph().nodes)


def cpu_seconds(path: Path, *arguments: str) -> float:
    """User and system time of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "gradscope", "replay", "-q", str(path), *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    rounds = options.parse_args().rounds
    print("| recording | nodes | text | json |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for detail in ("ops", "full"):
            path = Path(folder) / f"{detail}.gscope"
            nodes = record(path, detail)
            least = [min(cpu_seconds(path, "--fmt", fmt) for _ in range(rounds)) for fmt in ("text", "json")]
            print(f"| --detail {detail} | {nodes:,} | {least[0]:.2f} s | {least[1]:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
