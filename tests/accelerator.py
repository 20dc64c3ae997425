"""An accelerator to test with where there is none: the probes are told that every CPU tensor is in a device's memory.

Imported by name before a script runs, as the corpus does, it pretends at once for the whole process.
"""

import contextlib
import sys
from types import SimpleNamespace

import torch

from gradscope.probes import autopsy, births, devices, distant, evidence, optimizers, sizes

DEVICE = SimpleNamespace(late=False, capturing=False, stream=0, copies=0)


class Event:
    """An event that comes at once, unless the device is late."""

    def record(self, stream):
        DEVICE.copies += 1

    def query(self):
        return not DEVICE.late


def pretend(put=setattr):
    """Replace what knows CPU tensors from others, and what torch has for accelerators only. `put` is as setattr."""
    vars(DEVICE).update(late=False, capturing=False, stream=0, copies=0)
    for module in (autopsy, births, distant, evidence, optimizers, sizes):
        put(module, "is_plain", lambda value: False)
    put(devices, "is_there_one", lambda: True)
    put(devices, "is_on_accelerator", lambda tensor: True)
    put(devices, "is_capturing", lambda device: DEVICE.capturing)
    put(devices, "stream_of", lambda device: DEVICE.stream)
    put(devices, "on_stream", lambda stream: contextlib.nullcontext())
    put(devices, "host_room", lambda count, dtype: torch.empty(count, dtype=dtype))
    put(devices, "event_on", lambda device: Event())


if "nursery" in sys.argv[0]:
    pretend()
