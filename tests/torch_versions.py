"""What differs between versions of torch, in one table: found by what is there and by trying, not by numbers."""

from __future__ import annotations

import re
from functools import cache

import pytest
import torch

from gradscope.model.capabilities import silenced
from gradscope.model.torch_part import Lack
from gradscope.torch_internals.find import find
from gradscope.torch_internals.lacks import of_level


def has(part: str) -> bool:
    """Whether this torch has something, by its dotted name."""
    try:
        find(part)
    except (ImportError, AttributeError):
        return False
    return True


def needs(part: str) -> pytest.MarkDecorator:
    """Skips where this torch lacks a part, and names it."""
    return pytest.mark.skipif(not has(part), reason=f"this torch has no {part}")


# From 2.10 on: what a node keeps can be read without running the script's hooks, and tensors live as Python objects do.
_SAVED_TENSOR = "torch._C._autograd.SavedTensor.data"
needs_saved_tensors = needs(_SAVED_TENSOR)
_WITHOUT_IT = {
    "nonfinite/division_in_the_dataset": "the NaN is first seen in what a node keeps",
    "nonfinite/missing_values": "the NaN is first seen in what a node keeps",
    "nonfinite/normalised_beforehand": "the NaN is first seen in what a node keeps",
    "line of a custom backward": "torch.compile gives it the line of its call",
    "signals": "torch warns of tensors that are deallocated early",
}


def skip_where_different(name: str) -> None:
    """Skip what docs/compatibility.md says is different with this torch: a fault, a torture program, or more."""
    if name in _WITHOUT_IT and not has(_SAVED_TENSOR):
        pytest.skip(f"this torch has no {_SAVED_TENSOR}: {_WITHOUT_IT[name]}")


@cache
def lacks_here() -> tuple[Lack, ...]:
    """What recordings of this torch go without."""
    return of_level("full")


def skip_where_silent(*codes: str) -> None:
    """Skip where explain says nothing under one of these codes, and name the part of torch that is missing."""
    for lack in lacks_here():
        if any(silenced(code, [lack.capability]) for code in codes):
            pytest.skip(lack.reason)


# From 2.14 on `Function.apply` is C++: the arguments of a call are in the frame of the forward, which is seen where
# operators are.
APPLY_IS_IN_PYTHON = hasattr(torch.autograd.Function.apply, "__func__")

# From 2.14 on torch has a hook for the creation of nodes.
HAS_NODE_CREATION_HOOK = hasattr(torch.autograd.graph, "node_creation_hook")


@cache
def healthy_here() -> frozenset[str]:
    """The faults of the corpus that are none with this torch.

    From 2.14 on clamp passes no gradient on at its bounds, so that the derivative behind it does no harm there.
    """
    x = torch.ones(1, requires_grad=True)
    x.clamp(-1, 1).sum().backward()
    assert x.grad is not None
    return frozenset(["nonfinite/angle_between"] if x.grad.item() == 0 else [])


# From 2.12 on torch partitions a joint graph in a function of its own. Before, it gives additions of gradients other
# numbers, and torch.compile differentiates what a custom Function computes by numpy instead of calling its backward.
PARTITION = "torch._functorch._aot_autograd.graph_compile._partition_joint_graph_into_fw_bw"
ALSO_TOLD_HERE = {} if has(PARTITION) else {"compiled.NumpyForward": {"GS602"}}


# What a build of torch says of itself in any program: triton of the CUDA builds at the end of a process, and from 2.15
# on torch's own use of torch.jit.script.
_NOISE = (
    re.compile(r"nanobind: leaked .*?refleaks\.html\n?", re.DOTALL),
    re.compile(r"^.*/torch/jit/_\w+\.py:\d+: FutureWarning: `torch\.jit\.\w+` is deprecated.*\n  .*\n?", re.MULTILINE),
)


def without_noise(text: str) -> str:
    """What a program has printed, less what torch says of itself."""
    for noise in _NOISE:
        text = noise.sub("", text)
    return text


def spoken(text: str) -> list[str]:
    """The lines of what gradscope says at the end of a run, less what it says of this torch."""
    said = {f"gradscope: {lack.sentence}" for lack in lacks_here()}
    return [line for line in text.splitlines() if line not in said]
