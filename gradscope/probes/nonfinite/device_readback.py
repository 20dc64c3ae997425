"""Numbers on their way from a device to the host: slots on the device, pinned memory, and an event between the two.

The surprise: the slots may be filled anew as soon as their copy is asked for, because one stream does one thing after
the other. Only the host's side is taken until the event has come.
"""

from __future__ import annotations

import math
import time
from array import array

import torch

from gradscope.probes.tensors import accelerators
from gradscope.torch_internals.tensors import norms_of

SLOTS = 16_384
_LONGEST = 5.0  # seconds to wait for a device at the end of a run: one that hangs must not hang the program
_PAUSE = 0.0005


class Readback:
    """The slots of one device and dtype; `name` stands for the device.

    `used` says which looks the slots belong to, in order, `sent` those on their way. Only the stream that filled the
    first slot may fill others: another's work may come later than the copy.
    """

    __slots__ = ("_event", "_host", "_room", "_stream", "device", "name", "sent", "used")

    def __init__(self, device: torch.device, dtype: torch.dtype, name: int) -> None:
        self.device, self.name = device, name
        self._room = accelerators.room_on(device, SLOTS, dtype)
        self._host = accelerators.host_room(SLOTS, dtype)
        self._event = accelerators.event_on(device)
        self._stream = accelerators.stream_of(device)
        self.used, self.sent = array("q"), array("q")

    def is_full(self, count: int) -> bool:
        """Whether there are no so many free slots."""
        return len(self.used) + count > SLOTS

    def takes(self, count: int) -> bool:
        """Whether there are so many free slots, and this thread's stream may fill them."""
        stream = accelerators.stream_of(self.device)
        if not self.used and not self.sent:
            self._stream = stream
        return not self.is_full(count) and bool(stream == self._stream)

    def measure(self, tensor: torch.Tensor, look: int) -> None:
        """The largest magnitude of a tensor that is not empty: NaN when a NaN is in it. One kernel, no overflow."""
        slot = self._room[len(self.used)]
        torch.linalg.vector_norm(tensor, math.inf, dtype=self._room.dtype, out=slot)
        self.used.append(look)

    def measure_all(self, tensors: list[torch.Tensor], looks: range) -> None:
        """The same of many tensors of one dtype, at once."""
        norms = norms_of(tensors, math.inf, dtype=self._room.dtype)
        torch.stack(list(norms), out=self._room[len(self.used) : len(self.used) + len(tensors)])
        self.used.extend(looks)

    def put(self, numbers: list[torch.Tensor], looks: range) -> None:
        """Numbers that the device has, as they are."""
        self._room[len(self.used) : len(self.used) + len(numbers)].copy_(torch.stack(numbers))
        self.used.extend(looks)

    def send(self) -> None:
        """Ask for a copy of what is there, when the host's side is free."""
        if not self.used:
            return
        with accelerators.on_stream(self._stream):
            self._host[: len(self.used)].copy_(self._room[: len(self.used)], non_blocking=True)
            self._event.record(self._stream)
        self.sent, self.used = self.used, array("q")

    def has_come(self) -> bool:
        """Whether all that was sent is on the host."""
        return not self.sent or bool(self._event.query())

    def wait(self) -> None:
        """Until it is. Raises TimeoutError."""
        deadline = time.monotonic() + _LONGEST
        while not self.has_come():
            if time.monotonic() > deadline:
                raise TimeoutError("the device did not finish what it was given")
            time.sleep(_PAUSE)

    def close(self) -> None:
        """All has come, and nothing more will be asked for."""
        accelerators.give_back(self._host)

    def take(self, least: float, wanted: set[int]) -> dict[int, float]:
        """The numbers that are not finite, more than `least` or wanted, by look. The host's side is free then."""
        host = self._host[: len(self.sent)]
        slots = torch.nonzero(~(host <= least)).flatten().tolist()
        if wanted:
            slots += [slot for slot, look in enumerate(self.sent) if look in wanted]
        found = {self.sent[slot]: float(host[slot]) for slot in slots}
        self.sent = array("q")
        return found
