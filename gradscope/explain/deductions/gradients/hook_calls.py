"""The calls of hooks on parameters, with what ran in them, in the backward calls whose tensors were followed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from gradscope.explain.evidence.case import Case
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.hook import Hook
from gradscope.model.operation import Operation
from gradscope.model.site import Site
from gradscope.store.asked import kept

_ON_LEAVES, _ON_TENSORS = "post_accumulate", "tensor"
_ENGINE = "_engine_run_backward"


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a hook on a parameter, and the operators that ran in it, in order.

    `flow` tells what they read; it is empty in a backward in which tensors were not followed.
    """

    hook: Hook
    leaf: str
    backward: int
    node: int
    operations: Sequence[Operation]
    flow: Sequence[FlowOperation] = ()


@kept
def followed_hook_calls(case: Case) -> tuple[HookCall, ...]:
    """The calls of hooks on parameters in backward calls whose tensors were followed."""
    return tuple(_followed(case))


def _followed(case: Case) -> Iterator[HookCall]:
    hooks: dict[str, list[Hook]] = defaultdict(list)
    for hook in case.hooks():
        if hook.kind == _ON_LEAVES or (hook.kind == _ON_TENSORS and hook.on in parameters_by_leaf(case)):
            hooks[hook.on].append(hook)
    ran: dict[tuple[int, int], list[FlowOperation]] = defaultdict(list)
    for operation in case.flow() if hooks else ():
        node = operation.operation.node
        if operation.backward is not None and node is not None:
            ran[operation.backward, node].append(operation)
    for (backward, node), operations in ran.items():
        leaf = case.graph(case.like().get(backward, backward)).nodes[node].leaf or ""
        for hook in hooks.get(leaf, ()):
            inside = [one for one in operations if ran_in(one.operation, hook)]
            if inside:
                yield HookCall(hook, leaf, backward, node, [one.operation for one in inside], inside)


def ran_in(operation: Operation, hook: Hook) -> bool:
    """Whether an operator ran in a hook, a function or an object."""
    names = (hook.name.rpartition(".")[2], "__call__")
    return any(site.function.rpartition(".")[2] in names for site in inside_hook(operation))


def inside_hook(operation: Operation) -> Iterator[Site]:
    """The frames above the engine's."""
    return takewhile(lambda site: site.function != _ENGINE, operation.stack)


@kept
def tensors_by_number(case: Case) -> dict[int, FlowTensor]:
    """The tensors that operators read or made."""
    return {one.number: one for one in case.flow_tensors()}


@kept
def parameters_by_leaf(case: Case) -> dict[str, FlowTensor]:
    """Those of them that are parameters, by name."""
    return {one.leaf: one for one in case.flow_tensors() if one.leaf is not None and one.parameter}
