"""Tries torch's private parts on a graph of three nodes. Each trial returns what is wrong, or None.

No two of them run at once, nor beside a recording: each stands in for a part of torch and takes itself out again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def instead(owner: Any, name: str, stand_in: Any) -> Iterator[None]:
    """Let something stand in for an attribute."""
    original = getattr(owner, name)
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def anomaly_on() -> Iterator[None]:
    """Anomaly mode without its check for NaN, as the recorder keeps it."""
    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch._C.set_anomaly_enabled(True, False)
    try:
        yield
    finally:
        torch._C.set_anomaly_enabled(*before)


def leaf() -> torch.Tensor:
    """A tensor that wants a gradient."""
    return torch.ones(2, requires_grad=True)


def format_stack() -> str | None:
    """Torch asks it for every node, and keeps the answer."""
    import torch.fx.traceback as fx_traceback

    token = ["gradscope"]
    with anomaly_on(), instead(fx_traceback, "format_stack", lambda: token):
        node: Any = leaf().exp().grad_fn
    if node is None or node.metadata.get("traceback_") is not token:
        return "a node does not keep what it returns"
    return None


def anomaly() -> str | None:
    """The switch can be set without the check for NaN."""
    with anomaly_on():
        if not torch.is_anomaly_enabled() or torch.is_anomaly_check_nan_enabled():
            return "anomaly mode cannot be on without its check for NaN"
    return None


def current_node() -> str | None:
    """Inside a backward it is the node that runs, outside there is none."""
    seen: list[Any] = []
    x = leaf()
    y = x.exp()
    y.register_hook(lambda gradient: seen.append(torch._C._current_autograd_node()))
    y.sum().backward()
    if torch._C._current_autograd_node() is not None or seen != [y.grad_fn]:
        return "it does not name the node that runs"
    return None


def level() -> str | None:
    """Inside a transform there is a level, outside none."""
    seen: list[int | None] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch._C._functorch.maybe_current_level())
        return x.sum()

    torch.func.grad(look)(torch.ones(2))
    inside = seen == [1]
    return None if inside and torch._C._functorch.maybe_current_level() is None else "it does not count the levels"


def skip() -> str | None:
    """A function can be marked as one that torch.compile leaves alone."""
    from gradscope.probes.dynamo import skip as mark

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

    with instead(graph, "log", Log()), instead(graph, "_register_logging_hooks_on_whole_graph", before):
        leaf().sum().backward()
    return None if seen == ["before", "after"] else "a backward does not call it before and after"


def hooks() -> str | None:
    """Every registration makes a handle."""
    from torch.utils.hooks import RemovableHandle

    original, seen = RemovableHandle.__init__, 0

    def make(handle: Any, *arguments: Any, **keywords: Any) -> None:
        nonlocal seen
        seen += 1
        original(handle, *arguments, **keywords)

    with instead(RemovableHandle, "__init__", make):
        x = leaf()
        x.register_hook(lambda gradient: None)
        x.exp().grad_fn.register_prehook(lambda gradients: None)  # type: ignore[union-attr]
    return None if seen == 2 else "registering a hook does not make a handle"


def modules() -> str | None:
    """Its source is there and can be given two calls more."""
    from gradscope.probes.modules import _instrumented

    _instrumented(torch.nn.Module._wrapped_call_impl)  # type: ignore[arg-type]
    return None


def saved() -> str | None:
    """A node's raw saved tensors can be read without unpacking them."""
    node: Any = leaf().exp().grad_fn
    return None if isinstance(node._raw_saved_result.data, torch.Tensor) else "it is not a tensor"


def operators() -> str | None:
    """A mode of ours sees operators, and compilers let it pass."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
            seen.append(str(operator))
            return operator(*arguments, **(keywords or {}))

    with Mode():
        torch.ones(2) + 1
    if not hasattr(TorchDispatchMode, "is_infra_mode"):
        return "it has no is_infra_mode, so torch.compile compiles nothing under it"
    return None if seen == ["aten.ones.default", "aten.add.Tensor"] else "it does not see operators"


def collectives() -> str | None:
    """A collective asks it first."""
    broadcast: Any = torch.distributed.distributed_c10d.broadcast  # in a wrapper that logs exceptions
    asks = "_rank_not_in_group" in broadcast.__wrapped__.__code__.co_names
    return None if asks else "collectives do not ask it"


def reducer() -> str | None:
    """The module that makes one looks its class up in torch.distributed."""
    if not torch.distributed.is_available():
        return None
    used = torch.nn.parallel.DistributedDataParallel._ddp_init_helper.__code__.co_names
    return None if "Reducer" in used else "DistributedDataParallel does not make it"
