"""Sees every operator below autograd: its name, line, module call, the backward node it runs in, and what it writes.

The surprise: an operator's node is made before the operator is dispatched, so each operator claims the nodes that its
thread has made since the one before.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gradscope.probes.dynamo import skip, skip_methods
from gradscope.probes.engine import Call as EngineCall
from gradscope.probes.engine import Watcher
from gradscope.probes.faults import Faults
from gradscope.probes.modules import Calls
from gradscope.probes.names import Names
from gradscope.probes.nodes import token_of
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks
from gradscope.probes.tensors import storage_of
from gradscope.probes.threads import Thread, Threads
from gradscope.probes.structure import digest

_BLOCK = 8192  # numbers after which a block is closed
_HEAD, _WRITE = 5, 4  # numbers per operator, and per tensor written

Write = tuple[int, int, str]  # position, string id, name of a written argument


class Operations(Watcher):
    """Records operators in blocks: from one backward call to the next, and inside each."""

    def __init__(
        self, sink: Sink, threads: Threads, stacks: Stacks, names: Names, faults: Faults, started: float
    ) -> None:
        self._sink, self._threads, self._stacks, self._names, self._faults = sink, threads, stacks, names, faults
        self._calls = Calls(sink)
        self._known: dict[Any, tuple[int, tuple[Write, ...]]] = {}
        self._started = started
        self._block_runs = 0
        self._mode = _mode_class(self._saw)()
        self._all: list[Thread] = []

    def __enter__(self) -> Operations:
        skip_methods(Operations)
        self._mode.__enter__()
        self._bootstrap: Any = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
        bootstrap, mode, close = self._bootstrap, self._mode, self.close

        def bootstrap_inner(thread: threading.Thread) -> None:
            with mode:  # modes are per thread
                bootstrap(thread)
            close(self._threads.current)

        threading.Thread._bootstrap_inner = bootstrap_inner  # type: ignore[attr-defined]
        return self

    def __exit__(self, *error: object) -> None:
        threading.Thread._bootstrap_inner = self._bootstrap  # type: ignore[attr-defined]
        self._mode.__exit__(None, None, None)
        for thread in self._all:
            self.close(thread)

    def before(self, call: EngineCall, thread: Thread) -> None:
        """Close the forward's block."""
        self.close(thread, call.outer)

    def after(self, call: EngineCall, thread: Thread) -> None:
        """Close the backward's block."""
        self.close(thread, call)

    def _saw(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any] | None) -> None:
        thread = self._threads.current
        if thread.busy:
            return
        known = self._known.get(operator)
        if known is None:
            known = self._known[operator] = self._describe(operator)
        name, writes = known
        if thread.pending:
            for token in thread.pending:
                token.operator = name
            thread.pending.clear()
        thread.operator = name
        numbers = thread.operations
        if not numbers:
            self._open(thread)
        call = thread.call
        serial = 0
        if call is not None:
            serial = call.serial
            thread.calls[serial] = call
        node = -1
        backward = thread.backward
        if backward is not None:
            current = torch._C._current_autograd_node()
            made = None if current is None else token_of(current)
            if made is not None and backward.walked is not None:
                node = backward.walked.numbers.get(made.uid, -1)
        numbers.extend((name, self._stacks.take(sys._getframe(2), thread.base), serial, node, 0))
        if writes:
            self._written(thread, writes, arguments, keywords or {})
        if len(numbers) > _BLOCK:
            self.close(thread, backward)

    def _written(
        self, thread: Thread, writes: tuple[Write, ...], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        numbers = thread.operations
        count, at = 0, len(numbers) - 1
        for position, name, keyword in writes:
            value = arguments[position] if position < len(arguments) else keywords.get(keyword)
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, torch.Tensor):
                    storage, version = _numbered(thread, tensor)
                    leaf = self._sink.string(self._names.leaf(tensor)) if tensor.is_leaf and tensor.requires_grad else 0
                    numbers.extend((name, version, storage, leaf))
                    count += 1
        numbers[at] = count

    def _describe(self, operator: Any) -> tuple[int, tuple[Write, ...]]:
        schema = getattr(operator, "_schema", None)  # higher-order operators have none
        writes = tuple(
            (position, self._sink.string(argument.name), argument.name)
            for position, argument in enumerate(schema.arguments if schema is not None else ())
            if argument.alias_info is not None and argument.alias_info.is_write
        )
        return self._sink.string(str(operator)), writes

    def _open(self, thread: Thread) -> None:
        thread.started = time.perf_counter() - self._started
        if thread not in self._all:
            self._all.append(thread)

    def close(self, thread: Thread, backward: EngineCall | None = None) -> None:
        """Store a thread's open block, or only point at it when it was seen before."""
        numbers = thread.operations
        if not numbers:
            return
        calls = self._calls.ids(thread.calls)
        at, operations, writes = 0, 0, 0
        while at < len(numbers):
            numbers[at + 2] = calls.get(numbers[at + 2], 0)
            operations += 1
            writes += numbers[at + 4]
            at += _HEAD + _WRITE * numbers[at + 4]
        block, new = self._sink.template("block", digest(numbers))
        if new:
            self._sink.add("block", (block, operations, writes))
            self._write(block, list(numbers))
        number = None if backward is None else backward.number
        versions = json.dumps(thread.versions) if any(thread.versions) else None
        self._sink.add("block_run", (self._block_runs, block, thread.number, number, thread.started, versions))
        self._block_runs += 1
        del numbers[:]
        thread.calls.clear()
        thread.tensors.clear()
        thread.versions.clear()

    def _write(self, block: int, numbers: list[int]) -> None:
        at = number = 0
        while at < len(numbers):
            name, stack, call, node, count = numbers[at : at + _HEAD]
            self._sink.add("operation", (block, number, name, stack, call, None if node < 0 else node))
            at += _HEAD
            for position in range(count):
                argument, version, storage, leaf = numbers[at : at + _WRITE]
                self._sink.add(
                    "written", (block, number, position, argument, None if version < 0 else version, storage, leaf)
                )
                at += _WRITE
            number += 1


def _numbered(thread: Thread, tensor: torch.Tensor) -> tuple[int, int]:
    """The storage's number in the open block, and the tensor's version less the first one written; -1 for none."""
    address, versions = storage_of(tensor)[0], thread.versions
    version = -1 if tensor.is_inference() else tensor._version
    storage = thread.tensors.get(address)
    if storage is None or -1 < version < versions[storage]:  # the address of a dead storage is used again
        storage = thread.tensors[address] = len(versions)
        versions.append(max(version, 0))
    return storage, version if version < 0 else version - versions[storage]


def _mode_class(saw: Any) -> Any:
    """A dispatch mode that compilers and higher-order operators let pass."""

    class Mode(TorchDispatchMode):
        supports_higher_order_operators = True  # else cond, while_loop, scan and flex_attention raise

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True

    def dispatch(mode: Any, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        for kind in types:
            if kind.__name__ == "DTensor":
                return NotImplemented  # the collectives that it issues inside are seen then
        saw(operator, arguments, keywords)
        return operator(*arguments, **keywords) if keywords else operator(*arguments)

    skip(dispatch)
    Mode.__torch_dispatch__ = dispatch  # type: ignore[method-assign]  # after the class: no wrapper around each operator
    return Mode
