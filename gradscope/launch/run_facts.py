"""How and where the recorded program runs: what model.run.Run tells of it."""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Sequence

import torch

from gradscope.store.origin import USER, origin_of
from gradscope.store.running import process_identity
from gradscope.version import __version__

_ENVIRONMENT = (
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "PYTHONHASHSEED",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "TORCH_LOGS",
)


def facts(detail: str, started: float, command: Sequence[str] | None = None) -> dict[str, object]:
    """The process at the beginning of a recording, by the names of Run's fields. `command` is what was typed after
    `python`, where it is known: `sys.argv` has no name of a module."""
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    return {
        "argv": list(sys.argv if command is None else command),
        "cwd": os.getcwd(),
        "gradscope": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "pid": os.getpid(),
        "process": process_identity(os.getpid()),
        "detail": detail,
        "started": started,
        "rank": int(rank) if rank and rank.isdigit() else None,
        "world_size": int(world) if world and world.isdigit() else None,
        "environment": {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    }


def main_threads_place() -> tuple[str, int, str] | None:
    """File, line and function of the user's in which the main thread stands: it may sleep, and run no operator."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if origin_of(frame.f_code.co_filename) == USER:
            return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return None


def switches() -> dict[str, str]:
    """What decides how torch computes, as it stands now. The seed is the CPU's generator's."""
    return {
        "seed": str(torch.initial_seed()),
        "threads": str(torch.get_num_threads()),
        "default dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "deterministic algorithms": str(torch.are_deterministic_algorithms_enabled()).lower(),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
    }
