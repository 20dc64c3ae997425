"""What torch's wrappers wrap: its mode is the model's, and a wrapper's own says nothing of the layers inside.

`net.module.eval()` leaves DistributedDataParallel in training mode around layers that are in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

_INSIDE = {  # by torch's file: under which name the class of it has what it wraps
    "torch.nn.parallel.distributed": "module",
    "torch.nn.parallel.data_parallel": "module",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "_fsdp_wrapped_module",
    "torch._dynamo.eval_frame": "_orig_mod",
}


class WrappedModules:
    """The modules that were met inside of wrappers, each with the name of the wrapper around all."""

    def __init__(self) -> None:
        self._names = WeakIdKeyDictionary()  # by identity: a module may have an __eq__ of its own

    def inside(self, module: nn.Module, name: Callable[[nn.Module], int]) -> nn.Module:
        """What a module computes with, itself or what it wraps; from then on this goes by the module's name."""
        inner = module
        while (wrapped := _wrapped(inner)) is not None:
            inner = wrapped
            self._names[inner] = name(module)
        return inner

    def name(self, module: nn.Module) -> int | None:
        """The name by which a module goes that is inside of a wrapper."""
        found: int | None = self._names.get(module)
        return found


def _wrapped(module: nn.Module) -> nn.Module | None:
    for one in type(module).__mro__:
        if one.__module__ in _INSIDE:
            inner = module.__dict__["_modules"].get(_INSIDE[one.__module__])
            return inner if isinstance(inner, nn.Module) else None
    return None
