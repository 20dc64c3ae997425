"""Operators that ran, as the dispatcher saw them, and the tensors they wrote in place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gradscope.model.module import ModuleCall
from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class Write:
    """An in-place write: which argument, the tensor's version before it, and its storage (numbered in the block).

    `version` counts from that of the block's first write to the storage, so that steps alike share what they write
    (`Block.version_before` is torch's own); None where torch keeps none (inference tensors). `leaf` names the parameter
    written, if it is one.
    """

    argument: str
    version: int | None
    storage: int
    leaf: str | None = None


@dataclass(frozen=True, slots=True)
class Operation(Located):
    """One operator call. `node` is the backward node it ran in (an id in its backward's graph), None in a forward.

    `grad` is False where gradients were not recorded (no_grad, inference mode).
    """

    name: str
    stack: Stack
    module: ModuleCall | None = None
    node: int | None = None
    writes: tuple[Write, ...] = ()
    grad: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of operators in one thread: those between two backward calls, or those inside backward `backward`.

    `watched` is False where they were not seen in this backward, but in others that were like it in all that matters.
    `versions` are those of the storages at the first write to each. Stretches that are alike share their `operations`.
    """

    number: int
    operations: tuple[Operation, ...]
    thread: int = 0
    backward: int | None = None
    started: float = 0.0
    watched: bool = True
    versions: tuple[int, ...] = ()

    def version_before(self, write: Write) -> int | None:
        """The version that a tensor had before it was written, as torch counts."""
        if write.version is None or not 0 <= write.storage < len(self.versions):
            return write.version  # where all stood at 0, none is kept
        return write.version + self.versions[write.storage]


@lru_cache(maxsize=4096)
def base_name(operator: str) -> str:
    """`add_` of `aten.add_.Tensor`."""
    parts = operator.split(".")
    return parts[1] if len(parts) > 1 else operator
