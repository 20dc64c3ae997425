"""Records a small program that does one of each thing, and reads back what of it was seen: `gradscope doctor` asks.

The program runs in this process. What it does is chosen so that each thing can be told from all others.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from gradscope.capture import record
from gradscope.store.calls import read_calls
from gradscope.store.reader import Recording, load
from gradscope.view.health import Seen


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3 * factor

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradients[0] * 3 * x**2, None


class _Doubling(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def _program() -> None:
    x = torch.ones(3, requires_grad=True)
    y = _Doubling()(x).exp()
    y.register_hook(lambda gradient: gradient)
    cubes: Any = _Cube.apply(y, 1.0)  # type: ignore[no-untyped-call]
    cubes.sum().backward()
    torch.func.vmap(torch.sin)(torch.ones(2, 2))
    thread = threading.Thread(target=_in_a_thread, args=(x,))
    thread.start()
    thread.join()


def _in_a_thread(x: Any) -> None:
    x.tanh().sum().backward()


def rehearse() -> tuple[Seen, ...]:
    """What of the small program the recording has."""
    with tempfile.TemporaryDirectory(prefix="gradscope-") as folder:
        path = Path(folder) / "rehearsal.gscope"
        with record(path, detail="full", watch_all=True):
            _program()
        with load(str(path)) as recording:
            faults = "; ".join(f"{fault.probe}: {fault.message}" for fault in recording.faults())
            return tuple(_seen(what, look, recording, faults) for what, look in LOOKS.items())


def _seen(what: str, look: Callable[[Recording], bool], recording: Recording, faults: str) -> Seen:
    try:
        found = bool(look(recording))
    except Exception as error:
        return Seen(what, False, f"{type(error).__name__}: {error}")
    return Seen(what, found, "" if found else faults)


def _names(recording: Recording, backward: int) -> set[str]:
    return {node.name for node in recording.graph(backward).nodes}


LOOKS: dict[str, Callable[[Recording], bool]] = {
    "node": lambda one: {"ExpBackward0", "_CubeBackward"} <= _names(one, 0),
    "line of a node": lambda one: all(node.stack for node in one.graph(0).nodes),
    "backward call": lambda one: one.census().backwards == 2,
    "saved tensor": lambda one: any(node.saved for node in one.graph(0).nodes),
    "operator": lambda one: one.census().operations > 0,
    "operator of a node": lambda one: any(node.op == "aten.exp.default" for node in one.graph(0).nodes),
    "hook": lambda one: one.census().hooks == 1 and one.census().firings >= 1,
    "custom Function": lambda one: bool(read_calls(one.path, "_Cube")),
    "module call": lambda one: any("_Doubling" in repr(node.module) for node in one.graph(0).nodes),
    "transform": lambda one: any("Vmap" in repr(transform) for transform in one.transforms()),
    "backward in another thread": lambda one: "TanhBackward0" in _names(one, 1),
    "time and gradient of a node": lambda one: bool(one.gradients(0)),
}
