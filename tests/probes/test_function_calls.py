"""The kinds of calls of custom Functions are recorded, never their data."""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from gradscope.store.calls import read_calls
from tests.probes.against import recording


class Scale(torch.autograd.Function):
    """Takes a tensor and plain data."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float, sizes: tuple[int, ...], other: object) -> torch.Tensor:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return grad * ctx.factor, None, None, None


def test_each_kind_of_call_is_recorded_once(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        for rows in (2, 2, 3):
            Scale.apply(torch.randn(4, rows, requires_grad=True).t(), 2.0, (1, 2), object()).sum().backward()
    calls = read_calls(path, f"{__name__}:Scale")
    assert [call.arguments[0].shape for call in calls] == [(2, 4), (3, 4)]
    tensor, factor, sizes, other = calls[0].arguments
    assert (tensor.dtype, tensor.strides, tensor.requires_grad) == ("float32", (1, 2), True)
    assert (factor.value, sizes.value, other.known) == (2.0, (1, 2), False)


def test_torchs_own_functions_are_left_out(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        model = torch.nn.Linear(2, 2)
        model.register_full_backward_hook(lambda *arguments: None)
        model(torch.randn(2, 2, requires_grad=True)).sum().backward()
    assert sqlite3.connect(path).execute("SELECT count(*) FROM function_call").fetchone() == (0,)


def test_a_reentrant_checkpoint_that_trains_nothing_is_told_though_another_begins_first_in_it(tmp_path: Path) -> None:
    layer = torch.nn.Linear(2, 2)

    def outer(x: torch.Tensor) -> Any:
        return checkpoint(layer, x, use_reentrant=True)

    with recording(tmp_path, "ops") as path, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint(outer, torch.ones(2, 2), use_reentrant=True)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM notice").fetchone() == (1,)
