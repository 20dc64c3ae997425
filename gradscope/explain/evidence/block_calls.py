"""What a thread does up to each of its backward calls: stretches of operators, and the calls by which it trains."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.model.operation import Block, Operation
from gradscope.model.training import TrainingCall
from gradscope.store.asked import kept


@dataclass(frozen=True, slots=True)
class Stretch:
    """What ran in a thread up to its backward call `backward`, since the one before; None: up to the end."""

    backward: int | None
    blocks: tuple[Block, ...]
    calls: tuple[TrainingCall, ...]

    @property
    def operations(self) -> Iterator[Operation]:
        """Its operators, in order."""
        return (one for block in self.blocks for one in block.operations)


@kept
def stretches(case: Case) -> tuple[Stretch, ...]:
    """Those of all threads, in the order in which they began."""
    starts: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for call in case.backwards():
        starts[call.thread].append((call.started, call.number))
    found: dict[tuple[int, int | None], list[Block]] = defaultdict(list)
    for block in case.blocks():
        if block.backward is None:
            calls = starts[block.thread]
            at = bisect_left(calls, (block.started, -1))
            found[block.thread, calls[at][1] if at < len(calls) else None].append(block)
    called = {(one.thread, one.backward): one.calls for one in case.intervals()}
    return tuple(Stretch(key[1], tuple(blocks), called.get(key, ())) for key, blocks in found.items())


@kept
def calls_by_block(case: Case) -> dict[int, tuple[TrainingCall, ...]]:
    """By the number of a block of operators: the calls up to the backward that follows it."""
    return {block.number: stretch.calls for stretch in stretches(case) for block in stretch.blocks}
