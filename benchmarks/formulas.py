"""Which gradients have other bits than in a plain run: under an empty dispatch mode, and in a recording.

Takes torch's own samples of every operator, in float32 on the CPU, which are part of its tests (they need expecttest).
`probes/operators/decompositions.py` looks away from the nodes that an empty mode changes; a recording must change none.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from measuring import machine
from probes import empty_mode

import gradscope

_MOST = 80  # samples of an operator

Way = Callable[[], AbstractContextManager[Any]]
Bits = list[torch.Tensor | None]


def samples() -> Iterator[tuple[str, Any, Any]]:
    """The name of each operator that has a gradient, with the operator and a sample of what it takes."""
    from torch.testing._internal.common_methods_invocations import op_db

    for operator in op_db:
        if operator.supports_autograd and torch.float32 in operator.dtypes:
            try:
                found = list(operator.sample_inputs("cpu", torch.float32, requires_grad=True))
            except Exception as error:  # some need another device, or a library
                print(f"no samples of {operator.name}: {error}", file=sys.stderr)
                continue
            for sample in found[:_MOST]:
                yield operator.name, operator, sample


def gradients(operator: Any, sample: Any, way: Way) -> Bits | None:
    """The gradients of a sample's leaves, of random numbers at its outputs; None when there are none."""
    leaves: list[torch.Tensor] = []

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return value
        leaves.append(value.detach().clone().requires_grad_())
        return leaves[-1]

    torch.manual_seed(0)
    fresh = sample.transform(leaf)
    outputs = [one for one in tensors(operator(fresh.input, *fresh.args, **fresh.kwargs)) if one.requires_grad]
    if not outputs or not leaves:
        return None
    torch.manual_seed(1)
    random = [torch.randn_like(output) for output in outputs]
    with way():
        return list(torch.autograd.grad(outputs, leaves, random, allow_unused=True))


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in an operator's result."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [one for each in value for one in tensors(each)] if isinstance(value, (list, tuple)) else []


def same(one: Bits, other: Bits) -> bool:
    """Whether gradients are the same to the bit; a NaN is like another."""
    return all(
        first is second
        or (
            first is not None
            and second is not None
            and torch.equal(first.isnan(), second.isnan())
            and torch.equal(first.nan_to_num(), second.nan_to_num())
        )
        for first, second in zip(one, other, strict=True)
    )


def compare(way: Way) -> tuple[int, dict[str, int]]:
    """How many samples were compared, and how many of each operator differ."""
    compared, moved = 0, defaultdict[str, int](int)
    for name, operator, sample in samples():
        try:
            plain, again = (gradients(operator, sample, nullcontext) for _ in range(2))
            if plain is None or again is None or not same(plain, again):  # not the same twice, even without us
                continue
            other = gradients(operator, sample, way)
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            continue  # a sample that must fail, or one of a layout that cannot be compared
        compared += 1
        moved[name] += other is None or not same(plain, other)
    return compared, {name: count for name, count in moved.items() if count}


def main() -> int:
    """Print both comparisons. The status is 1 when a recording changes a bit."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        compared, moved = compare(lambda: empty_mode(Path(folder)))
        print(f"an empty dispatch mode: {compared:,} samples, other bits in {moved or 'none'}")
        path = Path(folder) / "one.gscope"
        compared, moved = compare(lambda: gradscope.record(path, overwrite=True))
        print(f"a recording: {compared:,} samples, other bits in {moved or 'none'}")
    return int(bool(moved))


if __name__ == "__main__":
    sys.exit(main())
