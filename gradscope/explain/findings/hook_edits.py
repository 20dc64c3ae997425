"""Hooks that edit what they get: GS753 the parameter, GS756 the gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.inplace_writes import in_optimizer
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.hook import Hook, HookPlace
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site

_RETURNED = "post accumulate grad hooks should return None"


def hook_edits_parameter(case: Case) -> Iterator[Cause]:
    """A post-accumulate hook that takes the parameter for its gradient.

    What it flags: a hook of `register_post_accumulate_grad_hook` edits, or returns, what it gets as if it were the
        gradient.
    Why: such a hook gets the parameter; the gradient is in `parameter.grad`. A backward runs without autograd, so that
        an edit of the parameter raises no error: the weights change silently.
    Wrong:
        def clip(gradient):
            gradient.clamp_(-1, 1)               # clips the weights
        weight.register_post_accumulate_grad_hook(clip)
    Right:
        def clip(parameter):
            parameter.grad.clamp_(-1, 1)
        weight.register_post_accumulate_grad_hook(clip)
    Do instead: edit `parameter.grad` in it; or use `register_hook`, whose hooks get the gradient and may return
        another.
    How it is found: an operator that ran in the hook wrote what the hook's first argument names, in a function that
        never asks for `.grad`.
    """
    said: dict[Site | None, tuple[Cause, list[str]]] = {}
    for place in case.hook_places():
        if place.hook.kind != "post_accumulate":
            continue
        leaf = case.graph(place.backward).nodes[place.node].leaf or "leaf"
        for operation in _inside(case, place):
            argument = _argument_edited(case, operation.site)
            if argument is not None and not in_optimizer(operation):
                said.setdefault(operation.site, (_edits(place, operation, leaf), []))[1].append(leaf)
                break
    for cause, leaves in said.values():
        yield replace(cause, message=cause.message.format(parameters=several(leaves)), weight=len(leaves))
    for failure in case.failures():
        if _RETURNED in failure.message:
            hooks = [one for one in case.hooks() if one.kind == "post_accumulate"]
            yield Cause(
                "a post-accumulate hook returned something: it gets the parameter, and what it returns is no gradient",
                hooks[0].site if hooks else failure.site,
                (Related("fails_at", failure.site),),
                fails=True,
                certain=len({one.stack for one in hooks}) == 1,
                backward=failure.backward,
            )


def _edits(place: HookPlace, operation: Operation, leaf: str) -> Cause:
    return Cause(
        f"the hook {place.hook.name} gets a parameter itself ({{parameters}}), not its gradient, and edits it: "
        f"{base_name(operation.name)} changes the weights",
        operation.site,
        (Related("registered_at", place.hook.site, f"on {place.hook.on}"),),
        node=place.node,
        op=operation.name,
        tensor=leaf,
        backward=place.backward,
    )


def hook_edits_gradient(case: Case) -> Iterator[Cause]:
    """A hook that edits the gradient in place.

    What it flags: a hook on a tensor, a node or a module changed the gradient that it got by an in-place operation.
    Why: the engine hands one and the same tensor to all that take part in an addition, to `.grad` and to what
        autograd.grad returns. An edit in a hook changes them all, or none, by accident of what is shared at that
        moment. A hook that only means to look (to log, to clip a copy) changes the training.
    Wrong:
        def log(gradient):
            norms.append(gradient.abs_().max())    # the gradient is |gradient| from here on
    Right:
        def log(gradient):
            norms.append(gradient.abs().max())
    Do instead: return a new gradient (`return gradient.clamp(-1, 1)`) where a change is meant; compute with operators
        that make new tensors where it is not.
    How it is found: around each hook the gradient's identity and version are compared; the same tensor with another
        version was edited. The operator that ran in the hook tells the line.
    """
    for place in case.hook_edits():
        if place.hook.kind in ("post_accumulate", "retain_grad"):
            continue
        operation = next(iter(_inside(case, place)), None)
        registered = place.hook.site
        site = operation.site if operation is not None else registered
        yield Cause(
            f"the hook {place.hook.name} on {place.hook.on} edits the gradient in place"
            + (f" with {base_name(operation.name)}" if operation is not None else ""),
            site,
            (
                Related("registered_at", registered, f"on {place.hook.on}"),
                Related("fails_at", case.backwards_by_number()[place.backward].site, f"backward {place.backward}"),
            ),
            certain=operation is not None,
            node=place.node,
            op=None if operation is None else operation.name,
            backward=place.backward,
        )


def _inside(case: Case, place: HookPlace) -> Iterator[Operation]:
    """The operators that wrote something while a hook ran in a node."""
    for block in case.blocks():
        for operation in block.operations if block.backward == place.backward else ():
            if operation.writes and operation.node == place.node and _ran_in(operation, place.hook):
                yield operation


def _ran_in(operation: Operation, hook: Hook) -> bool:
    name = hook.name.rpartition(".")[2]
    return any(site.function.rpartition(".")[2] == name for site in operation.stack)


def _argument_edited(case: Case, site: Site | None) -> str | None:
    """The first argument of the function around a line, if the line edits it and the function asks for no `.grad`."""
    function, edited = source_lines.enclosing(case, site), source_lines.edited(case, site)
    names = [one.arg for one in function.args.args if one.arg != "self"] if function is not None else []
    if function is None or edited is None or not names:
        return None
    argument = names[0]
    asks = any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in ast.walk(function))
    return argument if edited.split(".")[0].split("[")[0] == argument and not asks else None
