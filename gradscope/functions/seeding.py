"""Seeds torch's random numbers, often.

The surprise: where no accelerator is in use, `torch.manual_seed` keeps the seed for each kind of one, with a formatted
stack: three milliseconds, most of what a trial of a small Function took. Where none is there, nobody needs it; else one
is enough, until the number changes.
"""

from __future__ import annotations

import torch

SEED = 20

_kept: int | None = None  # the seed that an accelerator would begin with


def seed_torch(number: int = SEED) -> None:
    """Seed the generators that may be drawn from, as `torch.manual_seed` does."""
    global _kept
    kind = torch.accelerator.current_accelerator()
    if kind is None or (number == _kept and not _is_in_use(kind)):
        torch.default_generator.manual_seed(number)
    else:
        torch.manual_seed(number)
        _kept = number


def _is_in_use(accelerator: torch.device) -> bool:
    """Asked without waking it: a process in which one is awake cannot be forked."""
    asks = getattr(torch.get_device_module(accelerator), "is_initialized", None)
    return asks is None or bool(asks())
