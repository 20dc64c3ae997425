"""Hooks that are registered in the wrong place, or too late: GS751, GS752, GS754 and GS755."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from gradscope.engine.exec_info import exec_info
from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.graph import Graph, Node
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.model.mutation import Declaration
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_OF_MODULES = ("module_backward", "module_backward_pre")
_MECHANISM = "BackwardHookFunction"
_OUTPUTS = "give a tensor or a tuple of tensors; or hang a hook on a tensor of the dict (`out['logit'].register_hook`)"
_MODULES = f"torch{os.sep}nn{os.sep}modules{os.sep}"


def hook_on_old_node(case: Case) -> Iterator[Cause]:
    """A hook registered before an in-place edit.

    What it flags: a hook was registered on a tensor that was then edited in place.
    Why: a hook hangs on the node that made the tensor. An in-place operation gives the tensor a new node; the hook
        stays on the old one, and gets the gradient with respect to the values before the edit, while `tensor.grad` and
        hooks that are registered later belong to those after it.
    Wrong:
        h = layer(x)
        h.register_hook(record)
        h.relu_()                  # record sees the gradient before the relu
    Right:
        h = layer(x)
        h.relu_()
        h.register_hook(record)
    Do instead: register the hook after the last in-place edit; or make a new tensor (`h = h.relu()`) and keep the hook
        where it is, if the gradient before the operation is meant.
    How it is found: in the recorded graph, the node that a tensor hook hangs on is the `self` of an in-place
        operator's node.
    """
    edits: dict[int, dict[int, Node]] = {}
    for place in case.hook_places():
        site = place.hook.site
        if place.hook.kind != "tensor" or site is None:
            continue
        graph = case.graph(place.backward)
        if place.backward not in edits:
            edits[place.backward] = _edits(graph)
        edit = edits[place.backward].get(place.node)
        if edit is not None:
            old = graph.nodes[place.node]
            yield Cause(
                f"the hook {_words(place.hook)} hangs on {old.name}, but {base_name(edit.op or edit.name)} then edited "
                "the tensor in place: the hook sees the gradient before the edit",
                site,
                (
                    Related("modified_at", edit.site, edit.name),
                    Related("born_at", old.site, old.name),
                    Related("fails_at", graph.backward.site, f"backward {place.backward}"),
                ),
                node=place.node,
                op=edit.op,
                module=old.module.path if old.module is not None else None,
                backward=place.backward,
            )


def module_hook_too_late(case: Case) -> Iterator[Cause]:
    """A module's backward hook registered after its forward, or passed by.

    What it flags: a backward hook was registered on a module after its forward had run, or that forward is called by
        its name, and never fired.
    Why: a module's hooks act through a node that calling it puts around its inputs and outputs. A graph that was built
        before the registration has no such node, nor has one that `module.forward(x)` makes.
    Wrong:
        loss = model(x).sum()
        model.layer.register_full_backward_hook(record)
        loss.backward()            # record is not called
    Right:
        model.layer.register_full_backward_hook(record)
        loss = model(x).sum()
        loss.backward()
    Do instead: register the hook before the forward; or hang a hook on a tensor of the graph (`out.register_hook`),
        which works at any time. Call the module itself, not its forward(). Give a tensor or a tuple of tensors.
    How it is found: the hook never fired; a backward that began after its registration ran nodes of that module, and
        none of them is the one that its hooks would have needed. Or operators ran in a call of forward() of what the
        hook was registered on, as both lines name it. Or torch's node stands around the module's inputs, and the hook
        did not fire all the same: what the module gives is no tensor or tuple of tensors.
    """
    for hook, backward in case.hooks_never_fired():
        site = hook.site
        if hook.kind not in _OF_MODULES or site is None:
            continue
        inside = [node for node in case.graph(backward).nodes if _is_in(node.module, hook.on)]
        if inside and not any(_MECHANISM in node.name for node in inside):
            yield Cause(
                f"the hook {_words(hook)} on {hook.on} never fired: the forward had run when it was registered",
                site,
                (Related("fails_at", case.graph(backward).backward.site, f"backward {backward} passes it by"),),
                module=hook.on,
                backward=backward,
            )
        elif _is_wrapped_in_part(case, hook, backward):
            yield Cause(
                f"the hook {_words(hook)} on {hook.on} never fired: the module gives neither a tensor nor a tuple of "
                "tensors, and torch looks into nothing else, such as a dict",
                site,
                (Related("fails_at", case.graph(backward).backward.site, f"backward {backward} passes it by"),),
                certain=False,
                module=hook.on,
                backward=backward,
                advice=_OUTPUTS,
            )
            continue
        called = _forward_called_by_name(case, site) if not inside else None
        if called is not None:
            yield Cause(
                f"the hook {_words(hook)} on {hook.on} never fired: forward() is called by its name, which passes by "
                "all hooks",
                called,
                (Related("registered_at", site, hook.name),),
                module=hook.on,
                backward=backward,
            )


def _is_wrapped_in_part(case: Case, hook: Hook, backward: int) -> bool:
    """Whether torch put its node around the inputs of the module that a hook hangs on, of no other of its class, and
    the backward went on behind it: what the module gives was not wrapped."""
    graph = case.graph(backward)
    wrapped = [node.module for node in graph.nodes if _MECHANISM in node.name and node.module is not None]
    same = {one.path for one in wrapped if hook.on in (one.path, one.module_class)}
    others = {other.on for other in case.hooks() if other.kind in _OF_MODULES and other.number != hook.number}
    return hook.kind == _OF_MODULES[0] and len(same) == 1 and hook.on not in others and graph.backward.exception is None


def _forward_called_by_name(case: Case, registered: Site) -> Site | None:
    """The line that calls forward() of what a line registers a hook on, where operators ran in it."""
    calls = list(_method_calls(case, registered.file))
    on = [receiver for line, receiver, _ in calls if line == registered.line]
    lines = [line for line, receiver, method in calls if method == "forward" and receiver in on]
    ran = set(_lines_below_which_operators_ran(case)) if lines else ()
    line = next((line for line in lines if (registered.file, line) in ran), None)
    return None if line is None else syntax(case).site(registered.file, line)


def _lines_below_which_operators_ran(case: Case) -> Iterator[tuple[str, int]]:
    stacks = {id(one.operation.stack): one.operation.stack for one in dataflow(case).operations}
    return ((site.file, site.line) for stack in stacks.values() for site in stack)


def _method_calls(case: Case, file: str) -> Iterator[tuple[int, str, str]]:
    """The line, the receiver and the method of each call of one in a file."""
    for node in syntax(case).nodes(file):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.lineno, ast.unparse(node.func.value), node.func.attr


def module_hook_and_inplace(case: Case) -> Iterator[Cause]:
    """A full backward hook beside a module that works in place.

    What it flags: a tensor that a module with a full backward hook takes or gives was edited in place.
    Why: for such hooks torch wraps the module's inputs and outputs in views that a custom Function made, and it cannot
        rewrite the history of these for an in-place edit.
    Wrong:
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))
        model[0].register_full_backward_hook(record)
    Right:
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        model[0].register_full_backward_hook(record)
    Do instead: build the activation with inplace=False (`h = h.relu()` instead of `h.relu_()`); or hang the hook on
        the tensor.
    How it is found: torch's own error, which names the wrapper's node; where the module that edits was built is
        recorded.
    """
    for failure in case.failures():
        if _MECHANISM in failure.message and "modified inplace" in failure.message:
            hooks = [hook for hook in case.hooks() if hook.kind in _OF_MODULES]
            declared = _declared(case, failure, hooks)
            related = [Related("registered_at", hook.site, f"{hook.name} on {hook.on}") for hook in hooks[:1]]
            if declared is not None:
                related.append(Related("modified_at", failure.site, f"{declared.path} ({declared.module_class})"))
            yield Cause(
                "an in-place edit of a tensor that a module's full backward hook has wrapped",
                declared.site if declared is not None else failure.site,
                (*related, Related("fails_at", failure.site)),
                fails=True,
                certain=declared is not None or not _in_a_module(failure),
                module=declared.path if declared is not None else None,
            )


def gradient_before_hooks(case: Case) -> Iterator[Cause]:
    """autograd.grad that returns a gradient from before the hooks.

    What it flags: `autograd.grad` was asked for a result that another input depends on as well, and a hook on that
        result changed its gradient: the returned one is not changed.
    Why: the engine takes the gradient of an input when it arrives at its node. Usually that is after the tensor's
        hooks; but where the node has to run, for the sake of another input, it is before them.
    Wrong:
        h = x * 2
        h.register_hook(lambda gradient: gradient * 10)
        gx, gh = torch.autograd.grad(h.sum(), [x, h])      # gx has the factor, gh has not
    Right:
        gx, = torch.autograd.grad(loss, [x], retain_graph=True)
        gh, = torch.autograd.grad(loss, [h])
    Do instead: ask for the two in calls of their own; or change the gradient outside of the hook.
    How it is found: the call's inputs and the recorded graph tell which inputs' nodes run; the hooks on these were
        seen to change the gradient.
    """
    for place in case.hook_places():
        call = case.backwards_by_number()[place.backward]
        if call.kind != "grad" or call.inputs is None or len(call.inputs) < 2:
            continue
        graph = case.graph(place.backward)
        asked = {one.node for one in call.inputs} & exec_info(graph).needed
        changed = any(one.changed and one.node == place.node and one.hook == place.hook for one in graph.firings)
        if place.node in asked and changed and place.hook.kind == "tensor":
            node = graph.nodes[place.node]
            yield Cause(
                f"the gradient returned for {node.name}'s result is from before its hook {_words(place.hook)}, because "
                "another of the inputs lies behind it",
                call.site,
                (
                    Related("registered_at", place.hook.site, place.hook.name),
                    Related("born_at", node.site, node.name),
                ),
                node=place.node,
                backward=place.backward,
            )


def _edits(graph: Graph) -> dict[int, Node]:
    """The in-place operators' nodes that took over a tensor, by the node that they took it from."""
    names = [base_name(node.op or "") for node in graph.nodes]
    writing = {number for number, name in enumerate(names) if name.endswith("_") and not name.startswith("_")}
    edges = (edge for edge in reversed(graph.edges) if edge.output == 0 and edge.source in writing)
    return {edge.target: graph.nodes[edge.source] for edge in edges}


def _is_in(call: ModuleCall | None, on: str) -> bool:
    """Whether a call, or one around it, is of the module that a hook hangs on: by path, or by class if outermost."""
    around = call.chain if call is not None else ()
    return any(one.path == on or (not one.path and one.module_class == on) for one in around)


def _declared(case: Case, failure: Failure, hooks: list[Hook]) -> Declaration | None:
    """The module that edited: one with inplace=True that is hooked itself, or stands beside one that is."""
    if not _in_a_module(failure):
        return None
    hooked = {hook.on for hook in hooks}
    parents = {path.rpartition(".")[0] for path in hooked}
    editing = [one for one in case.declarations() if one.inplace]
    near = [one for one in editing if one.path.rpartition(".")[0] in parents] or editing
    chosen = [one for one in near if one.path in hooked] or near
    sites: set[Site | None] = {one.site for one in chosen}
    return chosen[0] if len(sites) == 1 else None


def _in_a_module(failure: Failure) -> bool:
    """Whether torch's own module edited, not the user's line."""
    inner = failure.stack[: next((at for at, one in enumerate(failure.stack) if one == failure.site), 0)]
    return any(_MODULES in site.file and site.function == "forward" for site in inner)


def _words(hook: Hook) -> str:
    return hook.name.replace("<locals>.", "")
