"""What the blocks of operators hold that threads are still filling, for a commit by the heartbeat's thread.

The surprise: nothing is locked, because the threads must not pay for it. A block only grows until it is closed, and
grows by whole operators: the numbers of each are appended in one instruction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping

from gradscope.model.detail import Detail
from gradscope.probes.core.context import Context
from gradscope.probes.core.module_call import InternedCalls
from gradscope.probes.core.sink import Row
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.operators.blocks import rows_of
from gradscope.probes.operators.recorder import OperatorRecorder

_YOUNG = 0.2  # seconds: a block that fills faster is closed and written before it matters

Tail = tuple[int, int, int, Mapping[str, Iterable[Row]], Row]


class PartialBlocks:
    """Looks at the threads' open blocks; each is given once, until it has grown."""

    def __init__(self, context: Context) -> None:
        seen = context.options.detail.has(Detail.OPS)
        self._threads = context.get(OperatorRecorder).threads if seen else []
        self._calls, self._began = InternedCalls(context.sink), context.started
        self._given: dict[int, tuple[int, float]] = {}  # by thread: the length that was given, and when it was opened

    def tails(self) -> Iterator[Tail]:
        """Thread, operators, writes, rows by table, and (thread, backward, started, versions) of each block."""
        now = time.perf_counter() - self._began
        for thread in list(self._threads):
            block, started = thread.operations, thread.started
            numbers = block[:]  # one instruction: whole operators, whatever the thread does
            look = len(numbers), started
            if numbers and now - started > _YOUNG and self._given.get(thread.number) != look:
                tail = self._tail(thread, numbers)
                if thread.operations is block:  # else it was closed meanwhile: its thread has stored it
                    self._given[thread.number] = look
                    yield tail

    def _tail(self, thread: Thread, numbers: list[int]) -> Tail:
        block = -1 - thread.number
        called = list(thread.calls)
        ids = self._calls.ids({call.serial: call for call in called})
        calls = {number: ids[call.serial] for number, call in enumerate(called, 1)}
        operations, written = rows_of(block, numbers, calls)
        backward, versions = thread.owner, list(thread.versions)
        run = (
            thread.number,
            None if backward is None else backward.number,
            thread.started,
            json.dumps(versions) if any(versions) else None,
        )
        return thread.number, len(operations), len(written), {"operation": operations, "written": written}, run
