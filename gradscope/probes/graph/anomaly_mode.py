"""The engine's anomaly switch, which must stay on for the node recorder, and the script's own, which must seem to be
the only one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import torch

from gradscope.signals import attribute

_TURNS = 4096  # of the script's switch that are remembered; a node that is older was made with the switch off


class AnomalyMode:
    """Stands in for torch's four anomaly functions: the script's switch acts on `on` and `check_nan` alone.

    `youngest` tells a uid above those of all nodes so far.
    """

    def __init__(self, youngest: Callable[[], int]) -> None:
        self.on = torch.is_anomaly_enabled()
        self._youngest = youngest
        self._turned = [youngest()] if self.on else list[int]()  # on, off, on, ...: before the node with this uid
        self.check_nan = torch.is_anomaly_check_nan_enabled()
        self._wanted = True  # by the node recorder
        self._set_real = torch._C.set_anomaly_enabled  # public as torch.autograd.set_detect_anomaly
        self._saved: list[tuple[Any, str, Any]] = []

    def set(self, on: bool, check_nan: bool = True) -> None:
        """What the script asks for: the engine checks for NaN only then."""
        if self.on != bool(on):
            self._turned.append(self._youngest())
            del self._turned[: 2 * (len(self._turned) // _TURNS)]
        self.on, self.check_nan = bool(on), bool(check_nan)
        self._set_real(self._wanted or self.on, self.on and self.check_nan)

    def made(self, uid: int) -> bool:
        """Whether a node was made while the script's switch was on: it has what torch prints of nodes that fail."""
        return bisect_right(self._turned, uid) % 2 == 1

    def want(self, wanted: bool) -> None:
        """Whether the node recorder needs it: not while nothing is recorded."""
        if wanted != self._wanted:
            self._wanted = wanted
            self.set(self.on, self.check_nan)

    def __enter__(self) -> AnomalyMode:
        stand_ins = {
            "set_anomaly_enabled": self.set,
            "is_anomaly_enabled": lambda: self.on,
            "is_anomaly_check_nan_enabled": lambda: self.check_nan,
        }
        for owner in (torch, torch._C):
            for name, stand_in in stand_ins.items():
                original = attribute(owner, name)
                if original is not None:
                    self._saved.append((owner, name, original))
                    setattr(owner, name, stand_in)
        self.set(self.on, self.check_nan)
        return self

    def __exit__(self, *error: object) -> None:
        if not self._saved:
            return
        for owner, name, original in self._saved:
            setattr(owner, name, original)
        self._saved.clear()
        self._set_real(self.on, self.check_nan)
