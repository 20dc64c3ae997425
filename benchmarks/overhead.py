"""What recording costs: one training step plain and recorded, in turn, in one process, on one thread.

`python benchmarks/overhead.py` prints the table of docs/overhead.md. CPU time of the whole process is counted, the
writing of the recording included; the ratio is the median over the pairs.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

import gradscope

SIZES = {16: ((2, 4), 2, 100), 256: ((8, 64), 8, 5)}  # width -> batch and length, heads, steps a round
WARM_UP = 3


def training_step(width: int) -> Callable[[], None]:
    """A step of a two-layer TransformerEncoder with SGD."""
    torch.manual_seed(0)
    shape, heads, _ = SIZES[width]
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True), 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(*shape, width)

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return step


def recorded(detail: str) -> Callable[[Path], AbstractContextManager[Any]]:
    """A recording in a folder."""
    return lambda folder: gradscope.record(folder / "run.gscope", detail=detail, overwrite=True)


def stock_anomaly(folder: Path) -> AbstractContextManager[Any]:
    """Torch's own anomaly mode, without its NaN check."""
    return torch.autograd.set_detect_anomaly(True, check_nan=False)


WAYS: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
    "gradscope --detail nodes": recorded("nodes"),
    "gradscope --detail ops": recorded("ops"),
    "gradscope --detail full": recorded("full"),
    "torch anomaly mode": stock_anomaly,
    "nothing (the noise)": lambda folder: nullcontext(),
}


def seconds(step: Callable[[], None], steps: int) -> float:
    """CPU seconds of this process for one step."""
    started = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - started) / steps


def measure(width: int, way: Callable[[Path], AbstractContextManager[Any]], rounds: int) -> tuple[float, float, float]:
    """Median ratio, plain milliseconds a step (the least), and bytes that the recording grows by a step."""
    step, steps, plain, ratios = training_step(width), SIZES[width][2], [], []
    with tempfile.TemporaryDirectory() as folder:
        seconds(step, WARM_UP)
        for _ in range(rounds):
            plain.append(seconds(step, steps))
            with way(Path(folder)):
                seconds(step, WARM_UP)
                ratios.append(seconds(step, steps) / plain[-1])
        grown = growth(step, steps, way, Path(folder))
    return statistics.median(ratios), min(plain) * 1000, grown


def growth(
    step: Callable[[], None], steps: int, way: Callable[[Path], AbstractContextManager[Any]], folder: Path
) -> float:
    """How much larger a recording of twice the steps is, by step."""
    sizes = []
    for count in (steps, 2 * steps):
        with way(folder):
            seconds(step, count)
        path = folder / "run.gscope"
        sizes.append(path.stat().st_size if path.exists() else 0)
    return (sizes[1] - sizes[0]) / steps


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    rounds = options.parse_args().rounds
    torch.set_num_threads(1)
    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, {rounds} pairs\n")
    print("| | d=16 | d=256 | bytes a step, d=16 |\n|---|---|---|---|")
    for name, way in WAYS.items():
        small, large = measure(16, way, rounds), measure(256, way, rounds)
        size = f"{small[2]:.0f}" if name.startswith("gradscope") else ""
        print(
            f"| {name} | {small[0]:.2f}x of {small[1]:.2f} ms | {large[0]:.2f}x of {large[1]:.0f} ms | {size} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
