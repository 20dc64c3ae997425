"""The engine's anomaly switch, which must stay on for the node recorder, and the script's own, which must seem to be
the only one.
"""

from __future__ import annotations

from typing import Any

import torch

from gradscope.signals import attribute


class AnomalyMode:
    """Stands in for torch's four anomaly functions: the script's switch acts on `on` and `check_nan` alone."""

    def __init__(self) -> None:
        self.on = torch.is_anomaly_enabled()
        self.check_nan = torch.is_anomaly_check_nan_enabled()
        self._wanted = True  # by the node recorder
        self._set_real = torch._C.set_anomaly_enabled  # public as torch.autograd.set_detect_anomaly
        self._saved: list[tuple[Any, str, Any]] = []

    def set(self, on: bool, check_nan: bool = True) -> None:
        """What the script asks for: the engine checks for NaN only then."""
        self.on, self.check_nan = bool(on), bool(check_nan)
        self._set_real(self._wanted or self.on, self.on and self.check_nan)

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
