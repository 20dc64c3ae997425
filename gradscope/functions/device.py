"""The device that the trials run on."""

from __future__ import annotations

import torch

from gradscope.errors import UsageError


def check_device(name: str) -> None:
    """Refuse a device that torch does not know; whether it works shows in the trials."""
    try:
        torch.device(name)
    except RuntimeError:
        raise UsageError(f"{name!r} is no device", "cpu, cuda, cuda:1, mps, ...") from None
