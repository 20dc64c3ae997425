"""What recording costs where a device computes: wall-clock time of whole steps, waited for at the end of each block.

`python benchmarks/on_cuda.py` prints the table of docs/overhead.md. A device works while Python goes on, so that what
we take is hidden where its work is longer; where steps are small calls, Python is everything, as on a CPU.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import torch
from measuring import Way
from torch import nn
from workloads import GPT

import gradscope

BLOCKS, FIRST = 4, 20
Step = Callable[[], None]


def encoder(width: int, batch: int, length: int) -> Step:
    """A two-layer TransformerEncoder with SGD."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(batch, length, width, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return step


def gpt(layers: int, width: int, batch: int, length: int) -> Step:
    """A GPT with AdamW in bfloat16 by autocast."""
    torch.manual_seed(0)
    model = GPT(layers, width, heads=width // 64, vocabulary=8192, length=length).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    tokens = torch.randint(8192, (batch, length), device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten())
        loss.backward()
        optimizer.step()

    return step


WORKLOADS: dict[str, tuple[Callable[[], Step], int]] = {
    "encoder d=64": (lambda: encoder(64, 8, 32), 50),
    "encoder d=1024": (lambda: encoder(1024, 64, 256), 8),
    "GPT, 12 layers, d=768": (lambda: gpt(12, 768, 8, 1024), 8),
}
WAYS: dict[str, Way] = {
    "nothing (the noise)": lambda folder: nullcontext(),
    **{
        f"--detail {detail}": lambda folder, detail=detail: gradscope.record(  # type: ignore[misc]
            folder / "run.gscope", detail=detail, overwrite=True
        )
        for detail in ("nodes", "ops", "full")
    },
    "torch anomaly mode, check_nan=False": lambda folder: torch.autograd.set_detect_anomaly(True, check_nan=False),
    "torch anomaly mode": lambda folder: torch.autograd.set_detect_anomaly(True),
}


def seconds(step: Step, steps: int) -> float:
    """Seconds for one step."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / steps


def measure(step: Step, steps: int, rounds: int) -> dict[str, tuple[float, float]]:
    """The ratio of each way, and how many more bytes of the device it takes at most."""
    found: dict[str, tuple[float, float]] = {}
    seconds(step, FIRST)
    for name, way in WAYS.items():
        plain, watched, more = [], [], []
        for _ in range(rounds):
            torch.cuda.reset_peak_memory_stats()
            plain += [seconds(step, steps) for _ in range(BLOCKS)]
            usual = torch.cuda.max_memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            with tempfile.TemporaryDirectory() as folder, way(Path(folder)):
                seconds(step, FIRST)
                watched += [seconds(step, steps) for _ in range(BLOCKS)]
            more.append(torch.cuda.max_memory_allocated() - usual)
        found[name] = statistics.median(watched) / statistics.median(plain), max(more) / 2**20
    found["plain"] = statistics.median(plain), 0.0
    return found


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=2)
    rounds = options.parse_args().rounds
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    print(f"{torch.cuda.get_device_name()}, {versions}, {rounds} rounds\n")
    print("| | a plain step | " + " | ".join(WAYS) + " |\n" + "|---" * (len(WAYS) + 2) + "|")
    for name, (build, steps) in WORKLOADS.items():
        found = measure(build(), steps, rounds)
        cells = (f"{found[way][0]:.2f}x, {found[way][1]:+.1f} MiB" for way in WAYS)
        print(f"| {name} | {found['plain'][0] * 1000:.2f} ms | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
