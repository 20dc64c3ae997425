"""GS777: what torch.func differentiates is read from outside of the function, and not from its arguments.

The surprise: torch says nothing. Where nothing else depends on the arguments, every gradient is zero and no backward
call is made at all; where the rest does, a part of the gradient is missing.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.words import several
from gradscope.functions.source import last_name
from gradscope.graphs.transforms import Under, pushes, transforms
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack

_GIVES_GRADIENTS = ("grad", "grad_and_value", "jacrev")
_MODULE_CALL = "torch/nn/modules/module.py"
_VALUES_ONLY = ("detach", "alias")
_SUBSTITUTES = ("functional_call", "_functional_call")
_DETACHING = ("data", "detach", "stop_gradient", "no_grad", "inference_mode", "set_grad_enabled")
_CALLS = 4  # of one line that are looked at: tensors are followed in the first steps


def closed_over(case: Case) -> Iterator[Cause]:
    """What it flags: a function under torch.func.grad that reads the parameters of a module instead of its arguments.

    Why: torch.func differentiates with respect to the arguments. A parameter that the function takes from a module or
    from a variable outside is a constant for it, even where the same tensor was also passed in: its part of the
    gradient is zero, and torch says nothing.

    Wrong:
        def loss(weights, x):
            return model(x).square().mean()

    Right:
        def loss(weights, x):
            return torch.func.functional_call(model, weights, (x,)).square().mean()

    Do instead: call the module with torch.func.functional_call and the weights that were passed in, and compute
    penalties from these; detach() what shall be a constant.

    How it is found: no backward ran at any call of the transform, and the operators under it read parameters of a
    module; or an operator under it read a parameter whose gradient was asked for, and no node of its line is in the
    graph that was differentiated.
    """
    read = _parameters_read(case)
    ended = {call.site for call in case.backwards() if call.kind == "grad"}
    ended |= {under.site for failure in case.failures() for under in transforms(failure.stack)}
    for site, found in read.items():
        around = [one for one in found[0].under if one.name in _GIVES_GRADIENTS]
        if site not in ended and len(around) == 1 and around[0].site == site:
            yield _nothing(case, around[0], [one.operation for one in found])
    yield from _partly(case, read)


@dataclass(frozen=True, slots=True)
class _Reading:
    """An operator of a forward that reads parameters of modules, and the transforms around it."""

    operation: FlowOperation
    names: tuple[str, ...]
    under: tuple[Under, ...]


def _parameters_read(case: Case) -> dict[Site, list[_Reading]]:
    """The operators that read parameters under transforms, by each line that called one."""
    found: dict[Site, list[_Reading]] = defaultdict(list)
    for operation in dataflow(case).operations if case.transforms() else ():
        if operation.backward is None and operation.operation.grad and (names := _names(case, operation)):
            one = _Reading(operation, names, transforms(operation.operation.stack))
            for site in dict.fromkeys(under.site for under in one.under):
                if site is not None:
                    found[site].append(one)
    return dict(found)


def _names(case: Case, operation: FlowOperation) -> tuple[str, ...]:
    """The parameters of modules that an operator reads and that require grad; not where it takes their values only."""
    if base_name(operation.operation.name) in _VALUES_ONLY:
        return ()
    known = dataflow(case).tensors
    read = (known[one.tensor] for one in operation.reads if one.leaf and one.requires_grad and one.tensor in known)
    return tuple(tensor.leaf for tensor in read if tensor.parameter and tensor.leaf)


def _nothing(case: Case, under: Under, operations: list[FlowOperation]) -> Cause:
    """No operator depends on what is differentiated."""
    names = tuple(dict.fromkeys(name for one in operations for name in _names(case, one)))
    stack = operations[0].operation.stack
    unread = _unread_argument(case, stack)
    what = f"`{unread}`, which this function does not read" if unread else "what nothing here depends on"
    message = f"{under.name} differentiates with respect to {what}: every gradient is zero; {several(names)} "
    message += "comes from outside of the function" if len(names) == 1 else "come from outside of the function"
    return Cause(
        message,
        _outside_of_modules(case, stack),
        (Related("cause_at", under.site, under.name),),
        certain=unread is not None,
        tensor=names[0],
        weight=len(names),
    )


def _partly(case: Case, read: dict[Site, list[_Reading]]) -> Iterator[Cause]:
    """Operators that read a parameter beside the graph in which its gradient was asked for."""
    looked, said = Counter[Site](), set[Site | None]()
    for call in case.backwards():
        known = read.get(call.site) if call.site is not None and call.kind == "grad" else None
        if known is None or call.site is None or call.inputs is None or call.number not in case.graph_sizes():
            continue
        looked[call.site] += 1
        asked, sites = _asked_for(case, call) if looked[call.site] <= _CALLS else (set(), set())
        for one in known if asked else ():
            names = tuple(name for name in one.names if _is_one_of(name, asked))
            if names and one.operation.site not in sites and not _is_meant(case, one.operation):
                site = _outside_of_modules(case, one.operation.operation.stack)
                if site not in said:
                    said.add(site)
                    yield _beside(site, names, one.under[-1], call, certain=not asked.isdisjoint(names))


def _asked_for(case: Case, call: Backward) -> tuple[set[str], set[Site | None]]:
    """The leaves that a call under a transform was asked for, and the lines of its graph's nodes."""
    graph = case.graph(call.number)
    if not any(node.levels for node in graph.nodes):
        return set(), set()
    asked = {graph.nodes[root.node].leaf for root in call.inputs or () if root.node is not None}
    return {name for name in asked if name}, {node.site for node in graph.nodes if not node.accumulates}


def _is_meant(case: Case, operation: FlowOperation) -> bool:
    """Whether what was passed in is read, or the program detaches: `.data` and no_grad leave no trace at this level."""
    under = _under_the_transform(operation.operation.stack)
    if any(site.function in _SUBSTITUTES for site in under):
        return True
    return any(_detaches(case, site) for site in under if site.origin is Origin.USER) or not _is_useful(case, operation)


def _detaches(case: Case, site: Site) -> bool:
    """Whether the function around a line, or the module, names what takes a tensor off its graph."""
    around = syntax(case).function(site)
    if site.line in syntax(case).parsed(site.file).modes or around is None:
        return True
    names = (node.attr for node in ast.walk(around) if isinstance(node, ast.Attribute))
    return any(name in _DETACHING for name in names)


def _is_useful(case: Case, operation: FlowOperation) -> bool:
    """Whether a loss comes from an operator's result, and nothing on the way was detached: that is meant."""
    flow = dataflow(case)
    if flow.useful.isdisjoint(operation.makes):
        return False
    roots = {root.tensor for root in flow.roots}
    waiting, seen = list(operation.makes), set(operation.makes)
    while waiting:
        tensor = waiting.pop()
        if tensor in roots:
            return True
        for at, read in flow.met(tensor):
            if read.requires_grad and flow.operations[at].backward is None:
                found = [made for made in flow.operations[at].makes if made not in seen]
                waiting += found
                seen.update(found)
    return False


def _is_one_of(name: str, asked: set[str]) -> bool:
    """Whether a parameter has one of these names; another tensor of the same name has its model's in front."""
    return name in asked or any(name.endswith(f".{one}") for one in asked)


def _beside(site: Site | None, names: tuple[str, ...], under: Under, call: Backward, certain: bool) -> Cause:
    message = f"{several(names)} is read from outside of what {under.name} differentiates: "
    message += "this use gives its gradient nothing"
    place = (Related("cause_at", under.site, under.name),)
    weight = len(names)
    return Cause(message, site, place, tensor=names[0], weight=weight, backward=call.number, certain=certain)


def _outside_of_modules(case: Case, stack: Stack) -> Site | None:
    """The user's innermost line under the transform that is no module's own: the one that calls the module."""
    outwards = list(reversed(_under_the_transform(stack)))
    calls = [at for at, site in enumerate(outwards) if _MODULE_CALL in site.file.replace("\\", "/")]
    own = [site for site in outwards[: calls[0] if calls else None] if site.origin is Origin.USER]
    while len(own) > 1 and _is_of_a_module(case, own[-1]):
        own.pop()
    return own[-1] if own else None


def _under_the_transform(stack: Stack) -> list[Site]:
    """The frames inside the innermost transform, innermost first."""
    end = next((at for at, site in enumerate(stack) if pushes(site)), len(stack))
    return list(stack[:end])


def _is_of_a_module(case: Case, site: Site) -> bool:
    """Whether a line stands in a method of a class that is a module by its bases."""
    parsed = syntax(case).parsed(site.file)
    return any(
        isinstance(node, ast.ClassDef)
        and node.lineno <= site.line <= (node.end_lineno or node.lineno)
        and any((last_name(base) or "").endswith("Module") for base in node.bases)
        for node in parsed.nodes
    )


def _unread_argument(case: Case, stack: Stack) -> str | None:
    """The first argument of the function that is differentiated, where its body does not read it."""
    within = [site for site in _under_the_transform(stack) if site.origin is Origin.USER]
    function = syntax(case).function(within[-1]) if within else None
    if not isinstance(function, ast.FunctionDef) or not function.args.args:
        return None
    first = function.args.args[0].arg
    read = any(isinstance(node, ast.Name) and node.id == first for node in ast.walk(function))
    return None if read else first
