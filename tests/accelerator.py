"""An accelerator to test with where there is none: the probes take CPU tensors for tensors in a device's memory."""

import contextlib
from types import SimpleNamespace

import torch

from gradscope.probes import autopsy, births, devices, distant, evidence, optimizers, sizes

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
    for module in (autopsy, births, distant, evidence, optimizers, sizes):
        put(module, "is_plain", is_on_host)
    put(devices, "is_there_one", lambda: True)
    put(devices, "is_on_accelerator", lambda tensor: not is_on_host(tensor))
    put(devices, "is_capturing", lambda device: DEVICE.capturing)
    put(devices, "stream_of", lambda device: DEVICE.stream)
    put(devices, "on_stream", lambda stream: contextlib.nullcontext())
    put(devices, "host_room", lambda count, dtype: torch.empty(count, dtype=dtype))
    put(devices, "event_on", lambda device: Event())
