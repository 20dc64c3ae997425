"""What the looks cost by which replicas are compared: `python benchmarks/looks.py` prints shares of a step.

After the backward calls 0, 1, 2, 4, 8, ... the norms of each leaf and of its gradient are taken, and those of plain
tensors that live on as long as these are followed; which gradients collectives are given is noted until the next
backward begins. One process, whose model is in DistributedDataParallel.
It is CPU time of the thread that trains, inside of these probes and of whole steps; medians.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.distributed as dist
from measuring import machine, seconds
from torch.nn.parallel import DistributedDataParallel
from workloads import GPT

import gradscope
from gradscope.probes.nonfinite.gradient_norms import GradientNorms
from gradscope.probes.operators.collective_calls import CollectiveCalls
from gradscope.probes.operators.plain_states import PlainStates

PARTS = (
    (GradientNorms, "before"),
    (GradientNorms, "after"),
    (PlainStates, "after"),
    (CollectiveCalls, "_note_gradients"),
)
STEPS = 65  # looked at: 0, 1, 2, 4, 8, 16, 32, 64
LONG = 1000  # steps of a run that is reckoned with
FIRST = 2  # steps that are unlike the others
LOOKS = (2, 4, 8, 16, 32, 64)


def training(width: int, length: int, batch: int) -> Callable[[], None]:
    """A step of a GPT of four blocks with SGD."""
    torch.manual_seed(0)
    model = DistributedDataParallel(GPT(4, width, 4, 1000, length))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    tokens = torch.randint(1000, (batch, length))

    def step() -> None:
        optimizer.zero_grad()
        model(tokens).square().mean().backward()
        optimizer.step()

    return step


def in_looks(step: Callable[[], None]) -> list[float]:
    """CPU seconds that each of some recorded steps takes for looks."""
    spent: dict[int, float] = defaultdict(float)
    number, inside = 0, False

    def adding(told: Callable[..., None]) -> Callable[..., None]:
        def tell(*arguments: Any) -> None:
            nonlocal inside
            if inside:
                return told(*arguments)
            inside, started = True, time.thread_time()
            told(*arguments)
            inside, spent[number] = False, spent[number] + time.thread_time() - started
            return None

        return tell

    with ExitStack() as entered:
        for owner, method in PARTS:
            entered.enter_context(patch.object(owner, method, adding(getattr(owner, method))))
        folder = entered.enter_context(tempfile.TemporaryDirectory())
        entered.enter_context(gradscope.record(Path(folder) / "run.gscope"))
        for number in range(STEPS):  # noqa: B007  (read where time is added up)
            step()
    return [spent[number] for number in range(STEPS)]


def main() -> None:
    """Print a row for each size."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    print(f"{machine()}\n")
    print(f"| a step of | a plain step | a look | of all {STEPS} steps | of {LONG:,} |\n|---|---|---|---|---|")
    for width, length, batch in ((32, 16, 4), (128, 64, 4), (256, 128, 4)):
        step = training(width, length, batch)
        seconds(step, FIRST)
        plain = statistics.median(seconds(step, 1) for _ in range(20))
        spent = in_looks(step)
        look = statistics.median(spent[number] for number in LOOKS)
        share = sum(spent) / len(spent) / plain
        looks = LONG.bit_length() + 1  # 0, 1, 2, 4, ...
        longer = look * looks / LONG / plain
        row = f"{plain * 1e3:,.1f} ms | {look * 1e3:.2f} ms | {share:.2%} | {longer:.2%} |"
        print(f"| GPT, width {width}, {batch} x {length} tokens | {row}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
