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
from gradscope.probes.flow import Flow
from gradscope.probes.modules import Calls
from gradscope.probes.names import Names
from gradscope.probes.nodes import token_of
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks
from gradscope.probes.steps import Steps
from gradscope.probes.structure import digest
from gradscope.probes.tensors import storage_of
from gradscope.probes.threads import Thread, Threads

_BLOCK = 8192  # numbers after which a block is closed
_PLAIN, _NO_GRAD = -1, -2  # in place of a node, for operators outside of a backward
_HEAD, _WRITE = 5, 4  # numbers per operator, and per tensor written

grad_enabled = torch.is_grad_enabled
Write = tuple[int, int, str]  # position, string id, name of a written argument


class Operator:
    """What is known of an operator: its name, what runs it, what it writes. Keeps it alive: its id is a key."""

    __slots__ = ("name", "operator", "run", "writes")

    name: int
    operator: Any
    run: Any
    writes: tuple[Write, ...]


class Operations(Watcher):
    """Records operators in blocks: from one backward call to the next, and inside each."""

    def __init__(
        self,
        sink: Sink,
        threads: Threads,
        stacks: Stacks,
        names: Names,
        faults: Faults,
        steps: Steps,
        started: float,
        flow: Flow,
    ) -> None:
        self._sink, self._threads, self._stacks, self._names, self._faults = sink, threads, stacks, names, faults
        self._steps, self._flow = steps, flow
        self._calls = Calls(sink)
        self._known: dict[int, Operator] = {}  # by id: an operator's own hash is slow
        self._started = started
        self._block_runs = 0
        self._mode = _mode_class(self._dispatch())()
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

    def _dispatch(self) -> Any:
        """The mode's function: hot, so what it uses is bound here."""
        known, describe, saw, faults = self._known, self._describe, self._saw, self._faults
        flow = self._flow

        def dispatch(mode: Any, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
            for kind in types:
                if kind.__name__ == "DTensor":
                    return NotImplemented  # the collectives that it issues inside are seen then
            run = operator
            try:
                found = known.get(id(operator))
                if found is None:
                    found = known[id(operator)] = describe(operator)
                run = found.run
                saw(found, arguments, keywords)
            except Exception as error:
                faults.note("operations", error)
            result = run(*arguments, **keywords) if keywords else run(*arguments)
            if flow.on:
                flow.saw(arguments, keywords, result)
            return result

        skip(dispatch)
        return dispatch

    def _saw(self, known: Operator, arguments: tuple[Any, ...], keywords: dict[str, Any] | None) -> None:
        thread = self._threads.current
        if thread.busy:
            return
        if not self._steps.recorded:
            thread.pending.clear()
            return
        name = known.name
        pending = thread.pending
        if pending:
            for token in pending:
                token.operator = name
            pending.clear()
        thread.operator = name
        numbers = thread.operations
        if len(numbers) > _BLOCK:
            self.close(thread, thread.backward)
        if not numbers:
            self._open(thread)
        call = thread.call
        serial = 0
        if call is not None:
            serial = call.serial
            if call is not thread.last_call:
                thread.last_call = thread.calls[serial] = call
        backward = thread.backward
        node = (_PLAIN if grad_enabled() else _NO_GRAD) if backward is None else _node_number(backward)
        numbers.extend((name, self._stacks.take(sys._getframe(2), thread.base), serial, node, 0))
        if known.writes:
            self._written(thread, known.writes, arguments, keywords or {})

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

    def _describe(self, operator: Any) -> Operator:
        schema = getattr(operator, "_schema", None)  # higher-order operators have none
        known = Operator()
        known.writes = tuple(
            (position, self._sink.string(argument.name), argument.name)
            for position, argument in enumerate(schema.arguments if schema is not None else ())
            if argument.alias_info is not None and argument.alias_info.is_write
        )
        known.name = self._sink.string(str(operator))
        known.operator = operator
        known.run = operator._op if type(operator) is torch._ops.OpOverload else operator  # one frame less
        return known

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
        ends: dict[int, int] = {}
        followed = bool(thread.flow)
        while at < len(numbers):
            numbers[at + 2] = calls.get(numbers[at + 2], 0)
            operations += 1
            writes += numbers[at + 4]
            at += _HEAD + _WRITE * numbers[at + 4]
            if followed:
                ends[at] = operations - 1
        block, new = self._sink.template("block", digest(numbers))
        if new:
            self._sink.add("block", (block, operations, writes))
            self._write(block, list(numbers))
        number = None if backward is None else backward.number
        versions = json.dumps(thread.versions) if any(thread.versions) else None
        self._sink.add("block_run", (self._block_runs, block, thread.number, number, thread.started, versions))
        self._flow.close(thread, self._block_runs, ends, new)
        self._block_runs += 1
        del numbers[:]
        thread.calls.clear()
        thread.last_call = None
        thread.tensors.clear()
        thread.versions.clear()

    def _write(self, block: int, numbers: list[int]) -> None:
        at = number = 0
        while at < len(numbers):
            name, stack, call, node, count = numbers[at : at + _HEAD]
            row = (block, number, name, stack, call, None if node < 0 else node)
            self._sink.add("operation", (*row, int(node != _NO_GRAD)))
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


def _node_number(backward: EngineCall) -> int:
    """The node that a backward is evaluating, -1 for none."""
    current = torch._C._current_autograd_node()
    token = None if current is None else token_of(current)
    return -1 if token is None or backward.walked is None else backward.walked.numbers.get(token.uid, -1)


def _mode_class(dispatch: Any) -> Any:
    """A dispatch mode that compilers and higher-order operators let pass."""

    class Mode(TorchDispatchMode):
        supports_higher_order_operators = True  # else cond, while_loop, scan and flex_attention raise

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True

    Mode.__torch_dispatch__ = dispatch  # type: ignore[method-assign]  # after the class: else torch wraps it, and each operator pays
    return Mode
