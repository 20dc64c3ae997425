"""What torch offers for an accelerator of any kind, one function each: nothing here waits for the device, or starts it.

An accelerator does later what it is told now. To ask for one number is to wait until all that came before is done.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, TypeGuard

import torch

from gradscope.probes.tensors.value_samples import has_values
from gradscope.signals import attribute

_free_rooms: dict[torch.dtype, list[torch.Tensor]] = {}
LOOKED_AT = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def is_far(value: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is a plain tensor that holds floating-point numbers in the memory of an accelerator."""
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and is_on_accelerator(value)
        and value.dtype in LOOKED_AT
        and has_values(value)
        and value.numel() > 0
    )


def is_there_one() -> bool:
    """Whether this torch was built for an accelerator: there need be none in this machine."""
    return torch.accelerator.current_accelerator() is not None


def is_on_accelerator(tensor: torch.Tensor) -> bool:
    """Whether a tensor is on a device that torch.accelerator speaks for: not meta, not one that only compiles."""
    if tensor.is_cpu:
        return False
    accelerator = torch.accelerator.current_accelerator()
    return accelerator is not None and tensor.device.type == accelerator.type


def stream_of(device: torch.device) -> Any:
    """The stream on which this thread gives the device its work."""
    return torch.accelerator.current_stream(device)


def is_capturing(device: torch.device) -> bool:
    """Whether this thread's stream only takes down what it is given, for a graph that runs later, many times."""
    asks = attribute(torch.get_device_module(device), "is_current_stream_capturing")
    return asks is not None and bool(asks())


def on_stream(stream: Any) -> contextlib.AbstractContextManager[Any]:
    """Give work to this stream for a while."""
    given: contextlib.AbstractContextManager[Any] = stream
    return given


def room_on(device: torch.device, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Room for numbers on the device."""
    return torch.empty(count, dtype=dtype, device=device)


def host_room(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Room on the host into which a device copies while the program goes on: pinned memory, of `count` numbers or more.

    The surprise: it is never freed but given back. To free it asks the device, and that ends the process where the
    device has failed since (torch 2.11: an exception in a destructor), and in a forked child.
    """
    free = _free_rooms.setdefault(dtype, [])
    for at in range(len(free)):
        if free[at].numel() >= count:
            return free.pop(at)
    room = torch.empty(1 << (count - 1).bit_length(), dtype=dtype, device="cpu", pin_memory=True)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(room))
    return room


def give_back(room: torch.Tensor) -> None:
    """Nothing is copied into it any more: the next who asks may have it."""
    _free_rooms.setdefault(room.dtype, []).append(room)


def event_on(device: torch.device) -> Any:
    """An event that can be recorded on a stream, and asked whether the device has come so far."""
    return torch.Event(device)
