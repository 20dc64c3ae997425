"""Which operators torch's optimizers run, and which a closure that they call: that is the program's own."""

from __future__ import annotations

from itertools import takewhile

from gradscope.model.operation import Operation
from gradscope.model.site import Origin, Site, Stack

_OPTIMIZER, _WRAPS_STEPS = "torch/optim/", "optimizer.py"


def runs_optimizer(operation: Operation) -> bool:
    """Whether an operator, whose tensors may be unknown, is of torch's optimizers."""
    return any(_is_of_optimizers(site) for site in operation.stack)


def is_in_closure(stack: Stack) -> bool:
    """Whether a closure that one of torch's optimizers calls ran it; what wraps a step calls a program's own step."""
    inner = list(takewhile(lambda site: not _is_of_optimizers(site), stack))
    caller = stack[len(inner)] if len(inner) < len(stack) else None
    is_called = caller is not None and not caller.file.endswith(_WRAPS_STEPS)
    return is_called and any(site.origin is Origin.USER for site in inner)


def _is_of_optimizers(site: Site) -> bool:
    return _OPTIMIZER in site.file.replace("\\", "/")
