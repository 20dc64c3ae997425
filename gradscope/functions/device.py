"""The device that the trials run on."""

from __future__ import annotations

import multiprocessing
import os
import warnings

import torch

from gradscope.errors import UsageError

PATIENCE = 60.0


def check_device(name: str) -> None:
    """Refuse a device that torch does not know or that is not here."""
    try:
        torch.device(name)
    except RuntimeError:
        raise UsageError(f"{name!r} is no device", "cpu, cuda, cuda:1, mps, ...") from None
    missing = "" if name == "cpu" else why_missing(name)
    if missing:
        raise UsageError(f"there is no device {name!r} here: {missing}", "leave --device out to run on the CPU")


def why_missing(name: str) -> str:
    """torch's words when nothing can be made on the device; asked in a child, because CUDA once used bars forking."""
    if not hasattr(os, "fork"):
        return complaint(name)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = context.Process(target=lambda: answers.put(complaint(name)), daemon=True)
        child.start()
    child.join(PATIENCE)
    if child.is_alive():
        child.kill()
        return f"it does not answer within {PATIENCE:.0f} s"
    return answers.get() if not answers.empty() else f"using it ends the process with status {child.exitcode}"


def complaint(name: str) -> str:
    """The first line of what torch raises when a tensor is made on the device, or nothing."""
    try:
        torch.ones(1, device=name).sum().item()
    except Exception as error:
        return (str(error).strip() or type(error).__name__).splitlines()[0]
    return ""
