"""Where the values of storages come from that are not finite: those of this step, and older ones that live on.

The surprise: a batch may be prepared, and hold its NaN, many steps before it is used. A weak reference to a storage
keeps its address from being another's.
"""

from __future__ import annotations

from typing import Any

from gradscope.probes.nonfinite.origins import NonfiniteOrigin
from gradscope.probes.tensors.metadata import storage_of
from gradscope.torch_internals.tensors import free_weak_reference, is_expired, weak_reference

_MOST = 4096  # storages


class LivingOrigins:
    """Origins by storage. Its length counts those of this step."""

    def __init__(self) -> None:
        self._now: dict[int, NonfiniteOrigin] = {}
        self._living: dict[int, tuple[int, NonfiniteOrigin]] = {}  # with torch's weak reference, a plain number

    def __len__(self) -> int:
        return len(self._now)

    def put(self, tensor: Any, origin: NonfiniteOrigin) -> None:
        """What a tensor holds comes from there."""
        identity = storage_of(tensor)[0]
        self._now[identity] = origin
        if identity and identity not in self._living and len(self._living) < _MOST:
            self._living[identity] = (weak_reference(tensor.untyped_storage()), origin)

    def of(self, tensor: Any) -> NonfiniteOrigin | None:
        """Where it comes from, None when that is not known."""
        identity = storage_of(tensor)[0]
        living = self._living.get(identity)
        older = None if living is None or is_expired(living[0]) else living[1]
        return self._now.get(identity) or older

    def reason(self, tensor: Any) -> NonfiniteOrigin | None:
        """The same, but for a NaN that an earlier step was given: it marks a gap in the data, and who computes with it
        is to blame.
        """
        found = self.of(tensor)
        marks = found is not None and found.wanted and storage_of(tensor)[0] not in self._now
        return None if marks else found

    def step_is_over(self) -> bool:
        """Only what lives on may still be met; whether there is any."""
        self._now.clear()
        self._sweep(is_expired)
        return bool(self._living)

    def release(self) -> None:
        """Let go of all storages."""
        self._sweep(lambda reference: True)

    def _sweep(self, over: Any) -> None:
        for identity, (reference, _) in self._living.copy().items():
            if over(reference):
                del self._living[identity]
                free_weak_reference(reference)
