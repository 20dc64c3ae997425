"""Measures the buffers of models of several ranks when their parameters are, and copies of these models that nobody
trains, as averages of weights are: ranks may be apart in them, too."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.signals import attribute

_LEFT_ALONE, _OF_A_COPY = 1, 2
_MOST = 1 << 20  # whole numbers of a buffer that are measured
_INSIDE = "module."  # before names in DistributedDataParallel

Key = tuple[str, int]  # a name, and what it is: 1 for a buffer that DistributedDataParallel was told not to broadcast


class BufferNorms:
    """The norms of the buffers that are saved with a model, and of the parameters of its copies."""

    def __init__(self, context: Context) -> None:
        self._sink, self._names = context.sink, context.names
        self._nonfinite = context.get(NonfiniteOnHost)

    def measure(self, call: BackwardCall) -> None:
        """Measure those of all models that have run; the caller's guards keep that out of what is recorded."""
        names: set[str] = set()
        measured = {**dict(self._buffers(names)), **dict(self._copies(names))}
        write = partial(self._write, call.number)
        read(((key, (_number_of(one),)) for key, one in measured.items() if is_plain(one)), write)
        there = ((key, one) for key, one in measured.items() if is_far(one) and not is_capturing(one.device))
        self._nonfinite.on_device.ask(((key, (_number_of(one),)) for key, one in there), write)

    def _copies(self, names: set[str]) -> Iterator[tuple[Key, torch.Tensor]]:
        """The parameters of models that are built as one that trains, and have no gradient themselves."""
        models = [list(model.named_parameters()) for model in self._names.models()]
        models = [own for own in models if not any(is_lazy(one) for _, one in own)]  # those have no sizes
        trained = {_build(own) for own in models if any(one.grad is not None for _, one in own)}
        for own in models if trained else ():
            if all(one.grad is None for _, one in own) and _build(own) in trained:
                for _, parameter in own:
                    name = self._names.leaf(parameter)
                    if name not in names and parameter.is_floating_point() and parameter.numel():
                        names.add(name)
                        yield (name, _OF_A_COPY), parameter

    def _buffers(self, names: set[str]) -> Iterator[tuple[Key, torch.Tensor]]:
        for model in self._names.models():
            wrappers: list[
                tuple[str, Container[str]]
            ] = []  # those that broadcast none: where they are, what they ignore
            for prefix, module in _inside(model):
                if isinstance(module, DistributedDataParallel) and not module.broadcast_buffers:
                    wrappers.append((f"{prefix}module.", attribute(module, "parameters_to_ignore", ())))
                for name, buffer in _saved(module):
                    whole = prefix + name
                    if whole not in names:  # two models may have buffers of one name
                        names.add(whole)
                        yield (whole, _LEFT_ALONE if _is_left_alone(whole, wrappers) else 0), buffer

    def _write(self, backward: int, key: Key, numbers: list[float]) -> None:
        name, kind = key
        self._sink.add("buffer_size", (backward, self._sink.string(name), repr(numbers[0]), kind))


def _number_of(tensor: torch.Tensor) -> torch.Tensor:
    """The norm; of whole numbers that of each times its place, since one and the same may stand in another order."""
    if tensor.is_floating_point():
        return norm_of(tensor, wide(tensor))
    places = torch.arange(1, tensor.numel() + 1, device=tensor.device, dtype=torch.float32)
    return norm_of(tensor.reshape(-1).to(torch.float32) * places, torch.float32)


def _build(parameters: list[tuple[str, torch.nn.Parameter]]) -> tuple[tuple[str, torch.Size], ...]:
    """The names and sizes of a model's parameters, as they are without a wrapper."""
    return tuple((name.removeprefix(_INSIDE), one.shape) for name, one in parameters)


def _inside(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """A model and all modules in it, each once, with what stands before the names inside: `named_modules`, quicker."""
    waiting, seen = [("", model)], {id(model)}
    for prefix, module in waiting:  # grows while it is walked
        yield prefix, module
        for name, child in list(module._modules.items()):
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                waiting.append((f"{prefix}{name}.", child))


def _is_left_alone(name: str, wrappers: list[tuple[str, Container[str]]]) -> bool:
    return any(name.startswith(prefix) and name[len(prefix) :] not in ignored for prefix, ignored in wrappers)


def _saved(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """A module's own buffers of numbers that its state_dict() has; a single whole number counts something."""
    there: dict[str, Any] = module.__dict__.get("_buffers", {})
    passing = module.__dict__.get("_non_persistent_buffers_set", ())
    for name, buffer in list(there.items()):
        if buffer is None or name in passing or not buffer.numel() or buffer.is_complex():
            continue
        if buffer.is_floating_point() or (buffer.ndim and buffer.numel() <= _MOST):
            yield name, buffer
