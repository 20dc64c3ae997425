"""Which operator wrote into a tensor that autograd had saved."""

from __future__ import annotations

import re

from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Backward, Node
from gradscope.model.mutation import Stale
from gradscope.model.operation import Block, Operation

REFUSED = "modified by an inplace operation"
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


def refused(case: Case, call: Backward) -> Stale | None:
    """The edited tensor that the exception is about: that of the first such node to run."""
    found = _VERSIONS.search(call.exception or "")
    stale = [one for one in case.stale() if one.backward == call.number]
    spoken = [one for one in stale if found and (one.version, one.expected) == (int(found[1]), int(found[2]))]
    nodes = case.graph(call.number).nodes
    return max(spoken or stale, key=lambda one: _sequence(nodes[one.node]), default=None)


def write_of(case: Case, stale: Stale) -> tuple[Block, Operation] | None:
    """The first operator that wrote a saved tensor after it was saved."""
    blocks = {block.number: block for block in case.blocks()}
    best: tuple[int, Block, Operation] | None = None
    for number, storage in stale.trail:
        block = blocks.get(number)
        for operation in block.operations if block is not None else ():
            for write in operation.writes:
                version = block.version_before(write) if block is not None and write.storage == storage else None
                if version is None or block is None:
                    continue
                inside = stale.expected <= version < stale.version
                if inside and (best is None or version < best[0]):
                    best = (version, block, operation)
        if best is not None and best[0] == stale.expected:
            break
    return None if best is None else best[1:]


def _sequence(node: Node) -> int:
    return -1 if node.seq_nr is None else node.seq_nr
