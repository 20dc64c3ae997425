"""The private places of torch that this room looks at, checked before they are touched.

They move between versions: what is missing is one sentence, and nothing has been changed by then.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.errors import UsageError


@dataclass(frozen=True, slots=True)
class Seam:
    """A function or method of torch's: the module and the dotted name in it, and since when it is there."""

    module: str
    name: str
    since: str

    def owner(self) -> Any:
        """The object that has it as an attribute. Raises UsageError when torch has it no more, or not yet."""
        try:
            found = importlib.import_module(self.module)
            *path, last = self.name.split(".")
            for part in path:
                found = getattr(found, part)
            getattr(found, last)
        except (ImportError, AttributeError):
            sentence = f"torch {torch.__version__} has no {self.module}.{self.name}, which this command looks at"
            raise UsageError(sentence, f"it is there from torch {self.since} on; 2.13 is tested") from None
        return found


PARTITION = Seam("torch._functorch._aot_autograd.graph_compile", "_partition_joint_graph_into_fw_bw", "2.13")
SUBGRAPH = Seam("torch._dynamo.output_graph", "OutputGraph.compile_subgraph", "2.0")
DEFAULT = Seam("torch._functorch.partitioners", "default_partition", "2.0")
MIN_CUT = Seam("torch._functorch.partitioners", "min_cut_rematerialization_partition", "2.0")
BACKEND = Seam("torch._dynamo.backends.common", "aot_autograd", "2.0")
_COMPILED = "torch._dynamo.compiled_autograd"
BEGIN = Seam(_COMPILED, "AutogradCompilerInstance.begin_capture", "2.5")
REASONS = Seam(_COMPILED, "AutogradCompilerInstance.log_compile_reasons", "2.9")
SIZES = Seam(_COMPILED, "AutogradCompilerInstance.remove_unused_sizes", "2.7")
END = Seam(_COMPILED, "AutogradCompilerInstance.end_capture", "2.5")
ENABLE = Seam(_COMPILED, "_enable", "2.6")
VERBOSE_LOG = Seam(_COMPILED, "verbose_log", "2.5")
SET_LOGGER = Seam("torch._C", "_dynamo.compiled_autograd.set_verbose_logger", "2.5")
COMPILED = (BEGIN, REASONS, SIZES, END, ENABLE, VERBOSE_LOG, SET_LOGGER)
JOINT = (PARTITION, SUBGRAPH, DEFAULT, MIN_CUT, BACKEND)


def check(seams: tuple[Seam, ...]) -> None:
    """Raise UsageError when one is missing."""
    for seam in seams:
        seam.owner()


def value(seam: Seam) -> Any:
    """What stands there."""
    return getattr(seam.owner(), seam.name.rpartition(".")[2])


@contextmanager
def replaced(seam: Seam, make: Callable[[Any], Any]) -> Iterator[None]:
    """Put `make(original)` there for a while."""
    owner, name = seam.owner(), seam.name.rpartition(".")[2]
    original = getattr(owner, name)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)
