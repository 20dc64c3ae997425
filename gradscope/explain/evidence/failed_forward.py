"""What ran just before a program failed in a forward, or between two of them."""

from __future__ import annotations

from gradscope.explain.evidence.case import Case
from gradscope.model.failure import Failure
from gradscope.model.operation import Operation


def operations_before(case: Case, failure: Failure, most: int) -> tuple[Operation, ...]:
    """The last operators of the failed thread since its last backward, in their order."""
    for block in reversed(case.blocks()):
        if block.thread == failure.thread and block.backward is None:
            return block.operations[-most:]
    return ()
