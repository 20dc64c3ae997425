"""A graph that compiled autograd captured, as the model's steps: its unpacking and checks left out.

The surprise: a node's name and place are in the text that torch sets as the stack trace of what comes from it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from torch import fx

from gradscope.compilers.lines import Whose, site
from gradscope.model.compiled import CompiledKind, CompiledStep
from gradscope.model.site import Stack

_ORIGIN = re.compile(r"(?P<name>[\w:<>, ]+?) \(NodeCall (?P<place>\d+)\)\s*$")
_INLINED = re.compile(r"^aot\d+_")
_PLUMBING = ("getitem", "validate_outputs", "unwrap_maybe_dynamic_int", "_exec_final_callbacks_stub")


def steps_of(graph: fx.Graph) -> tuple[tuple[CompiledStep, ...], dict[int, int]]:
    """The steps, and by position of a hook's step its place among the hooks that each run is given."""
    found: list[CompiledStep] = []
    sources: dict[str, tuple[int, ...]] = {}  # by fx node: the steps that its value comes from
    hooks: dict[int, int] = {}
    for node in graph.nodes:
        inputs = tuple(dict.fromkeys(one for before in node.all_input_nodes for one in sources.get(before.name, ())))
        if node.op != "call_function" or _name(node) in _PLUMBING:
            sources[node.name] = inputs
            continue
        step = _step(node, len(found), inputs)
        if (
            step.kind is CompiledKind.HOOK and not inputs
        ):  # it is given a parameter, whose .grad was added to just before
            added = (one for one in found if one.kind is CompiledKind.ACCUMULATE and one.node_call == step.node_call)
            step = replace(step, inputs=tuple(one.position for one in added))
        sources[node.name] = (step.position,)
        if step.kind is CompiledKind.HOOK:
            hooks[step.position] = _place_of_hook(node)
        found.append(step)
    return tuple(found), hooks


def described(hook: Any, whose: Whose) -> tuple[str, Stack]:
    """The name of a hook's function and where it is defined."""
    function = getattr(hook, "func", hook)
    function = getattr(function, "__wrapped__", function)
    name = getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")
    code = getattr(function, "__code__", None)
    return name, () if code is None else (site(code.co_filename, code.co_firstlineno, code.co_name, whose),)


def _step(node: fx.Node, position: int, inputs: tuple[int, ...]) -> CompiledStep:
    origin = _ORIGIN.search(node.meta.get("stack_trace") or "")
    place = int(origin["place"]) if origin else 0
    name = origin["name"].strip().rpartition("::")[2] if origin else ""
    hook = str(node.kwargs.get("hook_type", ""))
    return CompiledStep(position, _kind(node), _name(node), name, place or None, hook, inputs=inputs)


def _kind(node: fx.Node) -> CompiledKind:
    name = _name(node)
    if name == "call_hook":
        return CompiledKind.HOOK
    if "accumulate_grad" in name:
        return CompiledKind.ACCUMULATE
    if _INLINED.match(node.name):
        return CompiledKind.INLINED
    return CompiledKind.NODE if "Backward" in name or name == "call_backward" else CompiledKind.OTHER


def _name(node: fx.Node) -> str:
    target: Any = node.target
    return str(getattr(target, "__name__", None) or target).rpartition("ops.")[2]


def _place_of_hook(node: fx.Node) -> int:
    """Which of the hooks it calls; -1 when that is not written there."""
    unpacked: Any = node.args[0] if node.args else None
    place: Any = unpacked.args[1] if isinstance(unpacked, fx.Node) and len(unpacked.args) > 1 else -1
    return place if isinstance(place, int) else -1
