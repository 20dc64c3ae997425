"""What a backward found changed in its graph: saved tensors that were edited, nodes that had run before."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class Stale:
    """A saved tensor that was edited since: `expected` is its version when it was saved, `version` the one it had then.

    `node` is the id of the node that saved it, `trail` where its storage was written: pairs of a block's number and the
    storage's number in that block, the last block first.
    """

    backward: int
    node: int
    name: str
    expected: int
    version: int
    trail: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class HiddenWrite(Located):
    """A saved tensor that was written with no trace in graph or version; `late`: after it was saved, else before."""

    backward: int
    node: int
    name: str
    op: str
    stack: Stack
    late: bool


@dataclass(frozen=True, slots=True)
class Reused:
    """A node of a backward that raised, which backward `earlier` had run before as its node `earlier_node`."""

    backward: int
    node: int
    earlier: int
    earlier_node: int
    freed: bool


@dataclass(frozen=True, slots=True)
class Declaration(Located):
    """Where one of torch's own modules, or one that edits its input in place, was built; else as in a ModuleCall."""

    path: str
    module_class: str
    stack: Stack
    inplace: bool
