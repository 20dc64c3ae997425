"""Measures the buffers of models of several ranks when their parameters are: ranks may drift apart in them, too."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.signals import attribute

Key = tuple[str, bool]  # a buffer's name, and whether DistributedDataParallel was told not to broadcast it


class BufferNorms:
    """The norms of the floating-point buffers that are saved with a model."""

    def __init__(self, context: Context) -> None:
        self._sink, self._names = context.sink, context.names
        self._nonfinite = context.get(NonfiniteOnHost)

    def measure(self, call: BackwardCall) -> None:
        """Measure those of all models that have run; the caller's guards keep that out of what is recorded."""
        buffers, write = dict(self._buffers()), partial(self._write, call.number)
        read(((key, (norm_of(one, wide(one)),)) for key, one in buffers.items() if is_plain(one)), write)
        there = ((key, one) for key, one in buffers.items() if is_far(one) and not is_capturing(one.device))
        self._nonfinite.on_device.ask(call, ((key, (norm_of(one, wide(one)),)) for key, one in there), write)

    def _buffers(self) -> Iterator[tuple[Key, torch.Tensor]]:
        names = set()
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
                        yield (whole, _is_left_alone(whole, wrappers)), buffer

    def _write(self, backward: int, key: Key, numbers: list[float]) -> None:
        name, left_alone = key
        self._sink.add("buffer_size", (backward, self._sink.string(name), repr(numbers[0]), left_alone))


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
    """A module's own floating-point buffers that its state_dict() has."""
    there: dict[str, Any] = module.__dict__.get("_buffers", {})
    passing = module.__dict__.get("_non_persistent_buffers_set", ())
    for name, buffer in list(there.items()):
        if buffer is not None and name not in passing and buffer.is_floating_point() and buffer.numel():
            yield name, buffer
