"""An accelerator to test with where there is none: the probes take CPU tensors for tensors in a device's memory."""

import contextlib
from types import SimpleNamespace

import torch

from gradscope.probes.nonfinite import device, gradient_norms, graph_search, host, losses
from gradscope.probes.operators import optimizers
from gradscope.probes.tensors import accelerators, value_samples
from gradscope.probes.training import calls, updates

DEVICE = SimpleNamespace()


class Event:
    """An event that comes at once, unless the device is late."""

    def record(self, stream):
        DEVICE.copies += 1

    def query(self):
        return not DEVICE.late


def on_host(tensor):
    """A tensor that is in the memory of the host, as all tensors of the shape `DEVICE.host_shape` are."""
    DEVICE.host.append(tensor)
    return tensor


def is_on_host(value):
    return isinstance(value, torch.Tensor) and (
        value.shape == DEVICE.host_shape or any(value is one for one in DEVICE.host)
    )


def pretend(put=setattr):
    """Replace what knows CPU tensors from others, and what torch has for accelerators only. `put` is as setattr."""
    vars(DEVICE).update(late=False, capturing=False, stream=0, copies=0, host=[], host_shape=None)
    for module in (graph_search, host, device, value_samples, optimizers, gradient_norms, losses, calls, updates):
        put(module, "is_plain", is_on_host)
    put(accelerators, "is_there_one", lambda: True)
    put(accelerators, "is_on_accelerator", lambda tensor: not is_on_host(tensor))
    put(accelerators, "is_capturing", lambda device: DEVICE.capturing)
    put(accelerators, "stream_of", lambda device: DEVICE.stream)
    put(accelerators, "on_stream", lambda stream: contextlib.nullcontext())
    put(accelerators, "host_room", lambda count, dtype: torch.empty(count, dtype=dtype))
    put(accelerators, "event_on", lambda device: Event())
