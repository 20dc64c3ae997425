"""Runs collectives: what there is, the collective included, is committed before it waits for other ranks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from gradscope.probes.core.context import Context
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.core.traceback_filter import is_ours
from gradscope.probes.operators.blocks import HEAD
from gradscope.probes.operators.collective_calls import WAITS, CollectiveCalls, is_functional, signature_of
from gradscope.probes.operators.collective_writes import receiver_of
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.operators.inplace_writes import InplaceWrites
from gradscope.torch_internals.dynamo import skip


class CollectiveRuns:
    """Makes what runs a collective. `close` stores a thread's block, and answers with the number of its run."""

    def __init__(self, context: Context, close: Callable[[Thread], int | None]) -> None:
        self._sink, self._threads, self._faults = context.sink, context.threads, context.faults
        self._calls, self._seen, self._close = context.get(CollectiveCalls), context.events.collective_seen, close
        self._dataflow, self._writes = context.get(Dataflow), context.get(InplaceWrites)

    def runner(self, run: Any, name: int, operator: Any) -> Any:
        """What runs one in the place of `run`; `name` is its id in the recording."""
        signature, waits, late = signature_of(operator), operator._schema.name == WAITS, is_functional(operator)
        received = receiver_of(operator)
        exchanges = str(operator._schema.name).startswith("c10d::")  # the functional ones have derivatives

        def flush_and_run(*arguments: Any, **keywords: Any) -> Any:
            number, place, block_run = -1, None, None
            try:
                thread = self._threads.current
                place = self._dataflow.exchanges(thread) if exchanges else None
                stack = thread.operations[1 - HEAD] if received is not None and thread.operations else 0
                block_run = self._close(thread)
                if block_run is not None and thread.operator == name and not thread.busy:
                    number = self._note(signature, waits, arguments[1:], block_run)  # after the keys
                    if received is not None and thread.backward is None:
                        self._writes.received(received(arguments[1:]), name, stack)
                else:
                    place = None
                self._sink.commit()
                for tell in self._seen:
                    tell(_callers(sys._getframe(1)))
            except Exception as error:
                self._faults.note("operations", error)
            if place is None and (not late or number < 0):
                return run(*arguments, **keywords)
            result = run(*arguments, **keywords)
            if place is not None and block_run is not None:
                self._dataflow.exchanged((block_run, place), arguments[1:], result)
            try:
                if late and number >= 0:
                    self._calls.returned(number, result)
            except Exception as error:
                self._faults.note(CollectiveCalls.probe, error)
            return result

        skip(flush_and_run)
        return flush_and_run

    def _note(self, signature: Any, waits: bool, arguments: tuple[Any, ...], block_run: int) -> int:
        """The number of a collective that is written down, -1 for none."""
        try:
            if signature is not None:
                return self._calls.note(signature, arguments, block_run)
            if waits:
                self._calls.waits(arguments[0], block_run)
        except Exception as error:
            self._faults.note(CollectiveCalls.probe, error)
        return -1


def _callers(frame: FrameType | None) -> FrameType | None:
    """The frame behind those that are ours; none on the engine's own threads."""
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return frame
