"""What it costs to record a collective: `python benchmarks/collectives.py` prints microseconds for each kind.

Timed is what is done for a collective beyond recording it as an operator: its group, tensors and peer are looked at,
and a row is written. One process with gloo; the least of many rounds, since other programs run on the same machine.
"""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import gradscope
from gradscope.probes.operators.collective_calls import CollectiveCalls

ROUNDS, CALLS = 200, 200
taken: dict[str, tuple[Any, tuple[Any, ...]]] = {}
probes: list[CollectiveCalls] = []
original = CollectiveCalls.note


def note(self: CollectiveCalls, signature: Any, arguments: tuple[Any, ...], block_run: int) -> int:
    """Keep one call of each kind."""
    number = original(self, signature, arguments, block_run)
    probes[:] = [self]
    tensors = arguments[signature.tensors]
    taken.setdefault(f"{len(tensors) if type(tensors) is list else 1} tensors", (signature, arguments))
    return number


def microseconds(probe: CollectiveCalls, signature: Any, arguments: tuple[Any, ...]) -> float:
    """The least that a call took, on average over a round."""
    least = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(CALLS):
            original(probe, signature, arguments, 1)
        least = min(least, (time.perf_counter() - started) / CALLS)
    return least * 1e6


def main() -> None:
    """Print what each kind costs."""
    CollectiveCalls.note = note  # type: ignore[method-assign]
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    with tempfile.TemporaryDirectory() as folder, gradscope.record(Path(folder) / "run.gscope"):
        tensor = torch.ones(64, 64)
        dist.all_reduce(tensor)
        dist.all_reduce_coalesced([tensor] * 8)
        gc.disable()
        for kind, (signature, arguments) in taken.items():
            print(f"{kind}: {microseconds(probes[0], signature, arguments):.2f} us", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
