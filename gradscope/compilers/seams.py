"""The private places of torch that this room looks at, checked before they are touched.

They move between versions: what is missing is one sentence, and nothing has been changed by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from gradscope.errors import UsageError
from gradscope.model.seam import Seam


def _seam(part: str, name: str, gives: str, since: str) -> Seam:
    return Seam(name, part, gives, optional=True, since=since)


_JOINT = "joint"
PARTITION = _seam(
    _JOINT,
    "torch._functorch._aot_autograd.graph_compile._partition_joint_graph_into_fw_bw",
    "sees a joint graph and how it is cut",
    "2.13",
)
SUBGRAPH = _seam(_JOINT, "torch._dynamo.output_graph.OutputGraph.compile_subgraph", "knows regions and breaks", "2.0")
DEFAULT = _seam(_JOINT, "torch._functorch.partitioners.default_partition", "cuts by default", "2.0")
MIN_CUT = _seam(_JOINT, "torch._functorch.partitioners.min_cut_rematerialization_partition", "cuts to save less", "2.0")
BACKEND = _seam(_JOINT, "torch._dynamo.backends.common.aot_autograd", "compiles without a C++ compiler", "2.0")
BOXED = _seam(_JOINT, "torch._functorch._aot_autograd.utils.make_boxed_func", "runs what is cut", "2.0")
RESET = _seam(_JOINT, "torch._dynamo.reset", "compiles anew", "2.0")
COMPILE_ID = _seam(_JOINT, "torch._guards.CompileContext.current_compile_id", "numbers regions as torch does", "2.1")
CONFIG = _seam(_JOINT, "torch._functorch.config.patch", "asks no other ranks", "2.0")
_AOT = "torch._functorch.aot_autograd"
LOCAL_CACHE = _seam(_JOINT, f"{_AOT}.should_use_local_autograd_cache", "sees what is in torch's cache, too", "2.6")
REMOTE_CACHE = _seam(_JOINT, f"{_AOT}.should_use_remote_autograd_cache", "and in a cache of several machines", "2.6")

_PART, _PLACE = "compiled", "torch._dynamo.compiled_autograd"
_INSTANCE = f"{_PLACE}.AutogradCompilerInstance"
BEGIN = _seam(_PART, f"{_INSTANCE}.begin_capture", "sees a capture begin", "2.5")
REASONS = _seam(_PART, f"{_INSTANCE}.log_compile_reasons", "knows why", "2.9")
SIZES = _seam(_PART, f"{_INSTANCE}.remove_unused_sizes", "knows which sizes are used", "2.7")
END = _seam(_PART, f"{_INSTANCE}.end_capture", "sees the graph", "2.5")
ENABLE = _seam(_PART, f"{_PLACE}._enable", "switches it on", "2.6")
VERBOSE_LOG = _seam(_PART, f"{_PLACE}.verbose_log", "reads the reasons for misses", "2.5")
SET_LOGGER = _seam(_PART, "torch._C._dynamo.compiled_autograd.set_verbose_logger", "asks for them", "2.5")
DISABLE = _seam(_PART, "torch._dynamo.disable", "keeps what was captured from being compiled again", "2.0")

COMPILED = (BEGIN, REASONS, SIZES, END, ENABLE, VERBOSE_LOG, SET_LOGGER, DISABLE)
JOINT = (PARTITION, SUBGRAPH, DEFAULT, MIN_CUT, BACKEND, BOXED, RESET, COMPILE_ID, CONFIG)
CACHES = (LOCAL_CACHE, REMOTE_CACHE)
SEAMS = (*JOINT, *CACHES, *COMPILED)


def check(seams: tuple[Seam, ...]) -> None:
    """Raise UsageError when one is missing."""
    for seam in seams:
        _owner(seam)


def value(seam: Seam) -> Any:
    """What stands there."""
    return getattr(_owner(seam), seam.last)


@contextmanager
def replaced(seam: Seam, make: Callable[[Any], Any]) -> Iterator[None]:
    """Put `make(original)` there for a while."""
    owner, name = _owner(seam), seam.last
    original = getattr(owner, name)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def _owner(seam: Seam) -> Any:
    """The object that has it as an attribute. Raises UsageError when torch has it no more, or not yet."""
    try:
        return seam.owner()
    except (ImportError, AttributeError):
        sentence = f"torch {torch.__version__} has no {seam.name}, which this command looks at"
        raise UsageError(sentence, f"it is there from torch {seam.since} on; 2.13 is tested") from None
