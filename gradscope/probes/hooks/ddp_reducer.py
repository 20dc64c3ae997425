"""Sees DistributedDataParallel's reducer, whose hooks on the leaves' accumulators are in C++, by its effect.

The surprise: when the last gradient of a bucket has come, the hook starts the collective of that bucket, so that it is
dispatched while the leaf's node runs and no Python function stands between it and the engine.
"""

from __future__ import annotations

import itertools
import json
import sys
import weakref
from typing import Any

import torch

from gradscope.model.hook import IGNORED
from gradscope.model.run import ORDERS
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.hooks.recorder import HookRecorder
from gradscope.signals import attribute
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.running import current_node

KIND, NAME = "reducer", "DistributedDataParallel"
_MOST_NAMES, _MOST_WRAPPERS = 512, 4  # of which the order is written


class Reducer:
    """A reducer: its number among the hooks, and the module that made it."""

    __slots__ = ("module", "number")

    def __init__(self, number: int, module: Any) -> None:
        self.number = number
        self.module = None if module is None else weakref.ref(module)

    def runs(self, code: Any) -> bool:
        """Whether code is that of a communication hook, which is asked in place of a plain all-reduce."""
        module = None if self.module is None else self.module()
        hooks = attribute(module, "_comm_hooks", ())
        return any(getattr(hook, "__code__", None) is code for hook, _ in hooks)


class Reducers(Watcher):
    """Records the reducers that are made, the nodes that they hang on, and where they start a collective."""

    probe = "reducers"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._hooks, self._faults = context.get(HookRecorder), context.faults
        context.events.collective_seen.append(self.saw_collective)
        context.events.tensor_forgotten.append(self._forget)
        self._module: Any = torch.distributed if torch.distributed.is_available() else None
        self._leaves: dict[int, tuple[weakref.ref[Any], Reducer]] = {}  # by id(), of a leaf
        self._orders: list[dict[str, list[str]]] = []
        self._older: Reducer | None = None  # stands for those that were made before the recording began

    def __enter__(self) -> Reducers:
        skip_methods(Reducers)
        if self._module is None:
            return self
        original = self._original = self._module.Reducer

        def make_reducer(*arguments: Any, **keywords: Any) -> Any:
            reducer = original(*arguments, **keywords)
            try:
                self._made(arguments[0] if arguments else keywords["params"], sys._getframe(1))
            except Exception as error:
                self._faults.note(self.probe, error)
            return reducer

        skip(make_reducer)
        self._module.Reducer = make_reducer
        return self

    def __exit__(self, *error: object) -> None:
        if self._module is not None:
            self._module.Reducer = self._original

    def _made(self, leaves: Any, frame: Any) -> None:
        maker = frame.f_locals.get("self")
        inside: dict[str, Any] = {} if maker is None else maker.__dict__.get("_modules", {})
        words = f"{len(leaves)} parameters" + (f" of {type(inside['module']).__name__}" if "module" in inside else "")
        ignored = attribute(maker, "parameters_to_ignore", ())
        words += f", {IGNORED} {len(ignored)}" if ignored else ""
        reducer = self._register(words, self._stacks.take(frame, self._threads.current.base), maker)
        for leaf in leaves:
            self._leaves[id(leaf)] = (weakref.ref(leaf), reducer)
        if "module" in inside:
            self._note_order(inside["module"])

    def _note_order(self, module: torch.nn.Module) -> None:
        """Write the names of parameters and buffers in their order, by which alone ranks know them."""
        walks = torch.nn.Module.named_parameters, torch.nn.Module.named_buffers
        names = [[name for name, _ in itertools.islice(walk(module), _MOST_NAMES)] for walk in walks]
        if max(map(len, names)) < _MOST_NAMES and len(self._orders) < _MOST_WRAPPERS:
            self._orders.append(dict(zip(("parameters", "buffers"), names, strict=True)))
            self._sink.add("run", (ORDERS, json.dumps(self._orders)))

    def _register(self, words: str, stack: int, maker: Any) -> Reducer:
        number = self._hooks.next_number()
        self._sink.add("hook", (number, KIND, self._sink.string(NAME), self._sink.string(words), stack))
        return Reducer(number, maker)

    def _of(self, leaf: Any) -> Reducer | None:
        known = self._leaves.get(id(leaf))
        return known[1] if known is not None and known[0]() is leaf else None

    def _forget(self, tensor: torch.Tensor) -> None:
        """A tensor is about to become another."""
        self._leaves.pop(id(tensor), None)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Say which nodes hold which reducer's hooks."""
        if not self._leaves or call.walked is None:
            return
        for identity, node in call.walked.leaves.items():
            known = self._leaves.get(identity)
            if known is not None and known[0]() is not None:
                self._sink.add("hook_on", (call.number, known[1].number, node))

    def saw_collective(self, frame: Any) -> None:
        """A collective is about to run, called from `frame`."""
        node = current_node()
        leaf = getattr(node, "variable", None)
        if not isinstance(leaf, torch.Tensor):
            return
        reducer, hook = self._of(leaf), _below_the_engine(frame)
        if hook is not None and not (reducer is not None and reducer.runs(hook)):
            return  # a hook of the script's
        if reducer is None:
            if self._older is None:
                self._older = self._register("made before the recording began", 0, None)
            reducer = self._older
            self._leaves[id(leaf)] = (weakref.ref(leaf), reducer)
        self._hooks.acted(reducer.number, node)


def _below_the_engine(frame: Any) -> Any:
    """The code of the function that the engine called on the way to a frame; None when there is no such function."""
    below = None
    while frame is not None and frame.f_code.co_name != "_engine_run_backward":
        below, frame = frame.f_code, frame.f_back
    return below
