"""Sees retain_grad being asked for: torch keeps it on the node, out of Python's sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class RetainGrad:
    """Stands for Tensor.retain_grad and answers with torch's own method, so that its errors show no frame of ours."""

    def __init__(self, asked: Callable[[Any], None]) -> None:
        self._asked = asked
        self._original: Any = torch._C.TensorBase.retain_grad

    def __get__(self, tensor: Any, owner: Any) -> Any:
        if tensor is None:
            return self._original
        self._asked(tensor)
        return self._original.__get__(tensor, owner)
