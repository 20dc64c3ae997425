"""Torch's hint where a backward finds a saved tensor edited: other words in each version, and under anomaly mode."""

from __future__ import annotations

import torch

from gradscope.torch_internals.apart import apart

WITH_ANOMALY_MODE = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
    "The variable in question was changed in there or anywhere later. Good luck!"
)
_OF_213 = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def hint_without_anomaly_mode() -> str:
    """The hint of a plain run, read off an error made for it; that of torch 2.13 where the mode is on already."""
    found = apart(_hint)
    return _OF_213 if found in ("", WITH_ANOMALY_MODE) else found


def _hint() -> str:
    y = torch.ones(1, device="cpu", requires_grad=True).exp()
    with torch.no_grad():
        y.add_(1)
    try:
        _ = y.grad_fn._saved_result  # type: ignore[union-attr]
    except Exception as error:
        return "".join(str(error).partition("Hint:")[1:])
    return ""
