"""Records, for `trace --tensors`, what it takes to run a backward again: each operator call with its arguments.

An argument that no earlier call made is copied with its memory before it is used. So a re-execution needs no node, no
formula and no Python code of the program: it makes the same calls on the same bytes.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from gradscope.model.dispatch import Phase
from gradscope.model.tensor import TensorRole
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.operators.recorder import node_number
from gradscope.probes.tensors.metadata import TensorContents, TensorTypes
from gradscope.probes.tensors.storages import (
    CannotRepeatError,
    Memory,
    StorageBudget,
    digest,
    kind_of,
    unwrapped,
)
from gradscope.signals import attribute
from gradscope.torch_internals.dispatch_mode import mode_class
from gradscope.torch_internals.dynamo import body_of, is_operator, skip, skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, no_transforms, unprofiled
from gradscope.torch_internals.running import current_task

_UNDEFINED_CONTENT = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_")
_PREFIXED = (torch.dtype, torch.layout, torch.memory_format)


class BackwardToStore:
    """A backward that is being recorded."""

    def __init__(self, call: BackwardCall, memory: Memory, mode: Any) -> None:
        self.call, self.memory, self.mode = call, memory, mode
        self.lock = threading.RLock()
        self.task: int | None = None  # torch's number of the graph task, from the first node on
        self.node: int | None = None  # the last one entered
        self.phases: dict[int, Phase] = {}
        self.received: dict[int, str] = {}
        self.labels: list[tuple[int, int, int, int, int]] = []
        self.calls = self.nodes = 0
        self.handles: list[Any] = []
        self.watching = False


class TensorData(Watcher):
    """Watches operators and nodes during each outermost backward."""

    probe = "tensors"

    def __init__(self, context: Context) -> None:
        self._sink, self._contents = context.sink, context.get(TensorContents)
        self._threads, self._faults = context.threads, context.faults
        assert context.options.tensors is not None
        self._budget = StorageBudget(context.sink, context.options.folder, context.options.tensors)
        self._types = TensorTypes(context.sink)
        self._runs: dict[int, BackwardToStore] = {}
        self._mode = mode_class(self._dispatch())
        self._off = False
        context.faults.switch(self.probe, self._switch_off)
        skip_methods(TensorData)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Label what is at hand, hook the nodes, and see every operator from here on."""
        if call.outer is not None or self._off:
            return  # what a nested backward does belongs to the node that it runs in
        run = self._runs[call.number] = BackwardToStore(
            call, Memory(self._sink, call.number, self._budget), self._mode()
        )
        run.mode.run = run
        try:
            self._begin_run(run)
        except Exception as error:
            self._faults.note(self.probe, error)
        run.mode.__enter__()
        run.watching = True

    def _begin_run(self, run: BackwardToStore) -> None:
        call = run.call
        for name, value in conditions().items():
            self._sink.add("condition", (call.number, name, json.dumps(value)))
        self._label(run, TensorRole.ROOT_GRADIENT, enumerate([gradient] for gradient in call.gradients))
        kept = ([tensor for _, tensor in self._contents.saved(node)] for node in call.live)
        self._label(run, TensorRole.SAVED, enumerate(kept))
        for number, node in enumerate(call.live):
            run.handles.append(node.register_prehook(self._entering(run, number)))
            run.handles.append(node.register_hook(self._leaving(run, number)))

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Write what the tensors were used for, where their bytes were stored."""
        run = self._runs.get(call.number)
        if run is None:
            return
        self._leave(run)
        for role, node, position, kind, storage in run.labels:
            if storage in run.memory.stored:
                self._sink.add("tensor", (call.number, role, node, position, kind, storage))

    def forget(self, call: BackwardCall) -> None:
        """Stop watching."""
        run = self._runs.pop(call.number, None)
        if run is not None:
            self._leave(run)

    def _leave(self, run: BackwardToStore) -> None:
        if run.watching:
            run.watching = False
            run.mode.__exit__(None, None, None)
            for handle in run.handles:
                handle.remove()
            run.memory.release()

    def _switch_off(self) -> None:
        self._off = True

    def _label(self, run: BackwardToStore, role: TensorRole, owners: Iterable[tuple[int, Iterable[Any]]]) -> None:
        for owner, tensors in owners:
            for position, tensor in enumerate(tensors):
                plain = unwrapped(tensor) if isinstance(tensor, torch.Tensor) else None
                storage = None if plain is None else run.memory.expect(plain)
                if plain is not None and storage is not None:
                    run.labels.append((int(role), owner, position, self._types.take(plain), storage))

    # operators

    def _dispatch(self) -> Any:
        begin, end, faults = self._begin, self._end, self._faults

        def dispatch(mode: Any, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
            for kind in types:
                if kind.__name__ == "DTensor":
                    return NotImplemented
            keywords = keywords or {}
            row: tuple[Any, ...] | None = None
            try:
                row = begin(mode.run, operator, arguments, keywords)
            except Exception as error:
                faults.note(self.probe, error)
            run = body_of(operator)
            results = run(*arguments, **keywords)
            try:
                if row is not None:
                    end(mode.run, row, operator, arguments, keywords, results)
            except Exception as error:
                faults.note(self.probe, error)
            return results

        skip(dispatch)
        return dispatch

    def _begin(self, run: BackwardToStore, operator: Any, arguments: Any, keywords: Any) -> tuple[Any, ...] | None:
        """The call as a row, without its results."""
        if self._threads.current.busy or _without_data(arguments) or _without_data(tuple(keywords.values())):
            return None
        node = self._node(run)
        with run.lock, self._quietly():
            number, run.calls = run.calls, run.calls + 1
            try:
                state = self._generator(run, operator, keywords)
                text = json.dumps([encode(arguments, run.memory), encode(keywords, run.memory)])
            except CannotRepeatError:
                state = text = None
        phase = Phase.BEFORE if node is None else run.phases.get(node, Phase.BEFORE)
        return (run.call.number, number, node, int(phase), self._sink.string(str(operator)), text, state)

    def _end(
        self, run: BackwardToStore, row: tuple[Any, ...], operator: Any, arguments: Any, keywords: Any, results: Any
    ) -> None:
        if results is None:
            results = written(operator, arguments, keywords)
        if _without_data(results):
            return
        with run.lock, self._quietly():
            try:
                known = is_operator(operator)
                undefined = known and operator._schema.name.rpartition("::")[2] in _UNDEFINED_CONTENT
                text = json.dumps(encode(results, run.memory, made=True, digested=not undefined))
            except CannotRepeatError:
                text = None
            self._sink.add("dispatch", (*row, text))

    def _node(self, run: BackwardToStore) -> int | None:
        """The node of the outermost backward that is being evaluated."""
        if run.task is not None and current_task() != run.task:
            return run.node
        number = node_number(run.call)
        if number < 0:
            return None
        run.node = number  # a hook before it may start a backward
        return number

    def _generator(self, run: BackwardToStore, operator: Any, keywords: Mapping[str, Any]) -> int | None:
        """Store the state that a random operator starts from."""
        if torch.Tag.nondeterministic_seeded not in attribute(operator, "tags", ()):
            return None
        generator = keywords.get("generator") or torch.default_generator
        return run.memory.add(bytes(generator.get_state().tolist()))

    # nodes

    def _entering(self, run: BackwardToStore, number: int) -> Callable[[Any], None]:
        def entering(gradients: Any) -> None:
            try:
                if run.task is None:
                    run.task = current_task()
                if current_task() == run.task:
                    run.node, run.phases[number] = number, Phase.INSIDE
                    run.received[number] = self._places(run, gradients)
            except Exception as error:
                self._faults.note(self.probe, error)

        skip(entering)
        return entering

    def _leaving(self, run: BackwardToStore, number: int) -> Callable[[Any, Any], None]:
        def leaving(passed: Any, received: Any) -> None:
            try:
                if current_task() == run.task:
                    run.phases[number] = Phase.AFTER
                    came, went = run.received.pop(number, "[]"), self._places(run, passed)
                    self._sink.add("exchange", (run.call.number, run.nodes, number, came, went))
                    run.nodes += 1
            except Exception as error:
                self._faults.note(self.probe, error)

        skip(leaving)
        return leaving

    def _places(self, run: BackwardToStore, gradients: Any) -> str:
        with run.lock, self._quietly():
            return json.dumps([_place_or_none(gradient, run.memory) for gradient in gradients])

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Use torch unseen."""
        thread = self._threads.current
        busy, thread.busy = thread.busy, True
        try:
            with unprofiled(), no_function(), no_dispatch(), no_autograd(), no_transforms():
                yield
        finally:
            thread.busy = busy


def encode(value: Any, memory: Memory, made: bool = False, digested: bool = False) -> Any:
    """An operator's argument or result as JSON. Raises CannotRepeatError for what is neither memory nor plain data."""
    if isinstance(value, torch.Tensor):
        if value._is_zerotensor():
            return {"zeros": list(value.shape), **kind_of(value)}
        place = memory.place(value, made)
        return place | {"digest": digest(value)} if digested else place
    if isinstance(value, (list, tuple)):
        return [encode(one, memory, made, digested) for one in value]
    if isinstance(value, dict):
        return {name: encode(one, memory) for name, one in value.items()}
    return _plain(value)


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex": [_plain(value.real), _plain(value.imag)]}
    if isinstance(value, _PREFIXED):
        return {type(value).__name__: str(value).removeprefix("torch.")}
    if isinstance(value, (torch.device, torch.Generator)):
        return {type(value).__name__.lower(): str(value if isinstance(value, torch.device) else value.device)}
    raise CannotRepeatError(type(value).__name__)


def conditions() -> dict[str, bool | int | str]:
    """The switches of torch on which bits depend."""
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "mkldnn": bool(torch.backends.mkldnn.enabled),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }


def written(operator: Any, arguments: Any, keywords: Mapping[str, Any]) -> list[Any]:
    """The arguments that an operator writes in place."""
    schema = attribute(operator, "_schema")
    return [
        arguments[position] if position < len(arguments) else keywords.get(argument.name)
        for position, argument in enumerate(schema.arguments if schema is not None else ())
        if argument.alias_info is not None and argument.alias_info.is_write
    ]


def _without_data(value: Any) -> bool:
    """Whether an operator only works out shapes, on meta tensors."""
    if isinstance(value, (list, tuple)):
        return any(_without_data(one) for one in value)
    return isinstance(value, torch.Tensor) and value.is_meta


def _place_or_none(gradient: Any, memory: Memory) -> Any:
    """Where a gradient lies, with its digest; None for no gradient and for one that is not plain memory."""
    if not isinstance(gradient, torch.Tensor):
        return None
    try:
        place = encode(unwrapped(gradient), memory, digested=True)
        return place if "tensor" in place else None
    except CannotRepeatError:
        return None
