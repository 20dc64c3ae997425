"""Tries torch's private parts on a graph of three nodes. Each trial returns what is wrong, or None.

No two of them run at once, nor beside a recording: each stands in for a part of torch and takes itself out again.
torch is imported inside: whoever asks which trials there are need not have it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradscope.model.torch_part import PartTrial


@contextmanager
def _instead(owner: Any, name: str, stand_in: Any) -> Iterator[None]:
    """Let something stand in for an attribute."""
    original = getattr(owner, name)
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def _anomaly_on() -> Iterator[None]:
    """Anomaly mode without its check for NaN, as the recorder keeps it below torch 2.14."""
    import torch

    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch._C.set_anomaly_enabled(True, False)
    try:
        yield
    finally:
        torch._C.set_anomaly_enabled(*before)


def _leaf() -> Any:
    """A tensor that wants a gradient."""
    import torch

    return torch.ones(2, requires_grad=True)


def node_creation() -> str | None:
    """Every node that is made is shown, and keeps what it is given."""
    import torch

    token = ["gradscope"]
    private: Any = torch._C._autograd
    if hasattr(private, "_push_node_creation_hook"):
        seen: list[str] = []

        def see(node: Any) -> None:
            seen.append(node.name())
            node.metadata["gradscope"] = token

        private._push_node_creation_hook(see)
        try:
            node: Any = _leaf().exp().grad_fn
        finally:
            private._pop_node_creation_hook()
        kept = node.metadata.get("gradscope") is token
        return None if kept and "ExpBackward0" in seen else "the hook does not see a node that is made"
    import torch.fx.traceback as fx_traceback

    with _anomaly_on(), _instead(fx_traceback, "format_stack", lambda: token):
        if not torch.is_anomaly_enabled() or torch.is_anomaly_check_nan_enabled():
            return "anomaly mode cannot be on without its check for NaN"
        node = _leaf().exp().grad_fn
    return None if node.metadata.get("traceback_") is token else "a node does not keep what it returns"


def current_node() -> str | None:
    """Inside a backward it is the node that runs, outside there is none."""
    import torch

    seen: list[Any] = []
    x = _leaf()
    y = x.exp()
    y.register_hook(lambda gradient: seen.append(torch._C._current_autograd_node()))
    y.sum().backward()
    if torch._C._current_autograd_node() is not None or seen != [y.grad_fn]:
        return "it does not name the node that runs"
    return None


def level() -> str | None:
    """Inside a transform there is a level, outside none."""
    import torch

    seen: list[int | None] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch._C._functorch.maybe_current_level())
        return x

    torch.func.vmap(look)(torch.ones(2))
    inside = seen == [1]
    return None if inside and torch._C._functorch.maybe_current_level() is None else "it does not count the levels"


def skip() -> str | None:
    """A function can be marked as one that torch.compile leaves alone."""
    from gradscope.torch_internals.dynamo import skip as mark

    mark(lambda: None)
    return None


def engine() -> str | None:
    """Torch's function for every backward asks its logger for a level and, at DEBUG, calls us before and after it."""
    from torch.autograd import graph

    seen: list[str] = []

    class Log:
        def getEffectiveLevel(self) -> int:
            return logging.DEBUG

    def before(outputs: Any) -> Any:
        seen.append("before")
        return lambda: seen.append("after")

    with _instead(graph, "log", Log()), _instead(graph, "_register_logging_hooks_on_whole_graph", before):
        _leaf().sum().backward()
    return None if seen == ["before", "after"] else "a backward does not call it before and after"


def engine_asks() -> str | None:
    """The same, read off its code: before a recording no backward may run."""
    from torch.autograd import graph

    names = set(graph._engine_run_backward.__code__.co_names)
    asked = {"log", "getEffectiveLevel", "_register_logging_hooks_on_whole_graph"}
    return None if asked <= names else "a backward does not ask it"


def function_calls() -> str | None:
    """The frames of a custom Function's call tell its class and its arguments."""
    import sys

    import torch

    from gradscope.torch_internals.function_calls import CALLS

    seen: list[Any] = []

    with CALLS.watched(lambda function, frame: None):

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, factor: float) -> Any:
                frame: Any = sys._getframe()
                while frame is not None and not seen:
                    seen.extend(filter(None, [CALLS.of(frame)]))
                    frame = frame.f_back
                return x * factor

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient, None

        Double.apply(torch.ones(2), 2.0)  # type: ignore[no-untyped-call]
    right = len(seen) == 1 and seen[0].function is Double and seen[0].arguments[1:] == (2.0,)
    return None if right else "its frames do not tell what it was called with"


def hooks() -> str | None:
    """Every registration makes a handle."""
    from torch.utils.hooks import RemovableHandle

    original, seen, following = RemovableHandle.__init__, 0, RemovableHandle.next_id

    def make(handle: Any, *arguments: Any, **keywords: Any) -> None:
        nonlocal seen
        seen += 1
        original(handle, *arguments, **keywords)

    with _instead(RemovableHandle, "__init__", make):
        x = _leaf()
        x.register_hook(lambda gradient: None)
        x.exp().grad_fn.register_prehook(lambda gradients: None)
    RemovableHandle.next_id = following
    return None if seen == 2 else "registering a hook does not make a handle"


def modules() -> str | None:
    """Its source is there and can be given two calls more."""
    from torch.nn import Module

    from gradscope.torch_internals.instrumented import around

    around(Module._wrapped_call_impl, "enter", "leave", "call")  # type: ignore[arg-type]
    return None


def saved() -> str | None:
    """A node's raw saved tensors can be read without unpacking them."""
    import torch

    node: Any = _leaf().exp().grad_fn
    return None if isinstance(node._raw_saved_result.data, torch.Tensor) else "it is not a tensor"


def operators() -> str | None:
    """Our key hears operators, and torch does not take it for a dispatch mode."""
    import torch

    from gradscope.torch_internals import dispatch_key

    seen: list[str] = []

    def listener(name: str, keys: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        seen.append(name)
        return dispatch_key.pass_on(name, keys, arguments, keywords)

    before, was_on = dispatch_key.listening(), dispatch_key.is_on()
    dispatch_key.listen(listener)
    dispatch_key.switch(True)
    try:
        torch.ones(2) + 1
    finally:
        dispatch_key.switch(was_on)
        dispatch_key.listen(before)
    return None if {"aten::ones", "aten::add.Tensor"} <= set(seen) else "it does not see operators"


def partition() -> str | None:
    """What cuts a joint graph is called with the AOTConfig and its metadata, or with a state that has both."""
    import inspect

    from gradscope.torch_internals.find import bound

    cuts = bound("torch._functorch._aot_autograd.graph_compile._partition_joint_graph_into_fw_bw")
    names = set(inspect.signature(cuts).parameters)
    known = names >= {"aot_config", "fw_metadata"} or "aot_state" in names
    return None if known else "it is called with other arguments"


def collectives() -> str | None:
    """A collective asks it first."""
    import torch

    broadcast: Any = torch.distributed.distributed_c10d.broadcast  # in a wrapper that logs exceptions
    asks = "_rank_not_in_group" in broadcast.__wrapped__.__code__.co_names
    return None if asks else "collectives do not ask it"


def reducer() -> str | None:
    """The module that makes one looks its class up in torch.distributed."""
    import torch

    used = torch.nn.parallel.DistributedDataParallel._ddp_init_helper.__code__.co_names
    return None if "Reducer" in used else "DistributedDataParallel does not make it"


# By the name of the part in the table of parts.
TRIALS: dict[str, PartTrial] = {
    "torch._C._autograd._push_node_creation_hook": PartTrial(node_creation, quick=True),
    "torch.autograd.graph._engine_run_backward": PartTrial(engine),
    "torch.autograd.graph._register_logging_hooks_on_whole_graph": PartTrial(engine_asks, quick=True),
    "torch.autograd.graph.log": PartTrial(engine_asks, quick=True),
    "torch._C._functorch.maybe_current_level": PartTrial(level, quick=True),
    "torch._C._current_autograd_node": PartTrial(current_node),
    "torch._C._dynamo.eval_frame.set_code_exec_strategy": PartTrial(skip, quick=True),
    "torch.autograd.Function.apply": PartTrial(function_calls),
    "torch.utils.hooks.RemovableHandle.__init__": PartTrial(hooks, quick=True),
    "torch.distributed.Reducer": PartTrial(reducer),
    "torch.nn.Module._wrapped_call_impl": PartTrial(modules, quick=True),
    "torch._C._autograd.SavedTensor.data": PartTrial(saved, quick=True),
    "torch.distributed.distributed_c10d._rank_not_in_group": PartTrial(collectives),
    "torch._C._dispatch_library": PartTrial(operators, quick=True),
    "torch._functorch._aot_autograd.graph_compile._partition_joint_graph_into_fw_bw": PartTrial(partition, quick=True),
}
