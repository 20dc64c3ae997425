"""Threads that train at the same time are recorded as if each were alone, wherever Python switches between them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from gradscope.anomaly import explain
from gradscope.store.reader import load
from tests.probes.against import recording

THREADS, STEPS = 4, 6
SHARED = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Switch between threads as often as Python can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def train() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(STEPS):
        loss = (model(torch.ones(2, 4)) - 1).square().mean()
        loss.register_hook(lambda gradient: gradient)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.autograd.grad(SHARED(torch.ones(1, 4)).sum(), list(SHARED.parameters()))


@pytest.mark.parametrize("detail", ["ops", "full"] * 3)
def test_of_threads_that_train_at_the_same_time(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        threads = [threading.Thread(target=train) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with load(path) as recorded:
        calls = recorded.backwards()
        assert len(calls) == 2 * THREADS * STEPS
        assert len({recorded.graph(call.number).backward.number for call in calls}) == len(calls)
        blocks = list(recorded.blocks())
        assert len({block.number for block in blocks}) == len(blocks)
        tensors = [one.number for one in recorded.flow_tensors()]
        assert len(set(tensors)) == len(tensors)
        assert explain(recorded).findings == ()


def test_of_threads_that_register_hooks_while_a_backward_runs(tmp_path: Path) -> None:
    def register() -> None:
        for _ in range(500):
            torch.ones(2, requires_grad=True).register_hook(lambda gradient: gradient)

    threads = [threading.Thread(target=register) for _ in range(THREADS)]

    def wait_for_them(gradient: torch.Tensor) -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with recording(tmp_path):
        doubled = torch.ones(2, requires_grad=True) * 2
        doubled.register_hook(wait_for_them)
        doubled.sum().backward()
