"""GS753: hooks that take the parameter which they get for its gradient."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.hook_calls import (
    HookCall,
    followed_hook_calls,
    inside_hook,
    parameters_by_leaf,
    ran_in,
    tensors_by_number,
)
from gradscope.explain.deductions.lines.said_to_limit import says_it_limits, stands_among_limits
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import is_in_step
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related, Severity
from gradscope.model.hook import Hook, HookPlace
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site

_KIND = "post_accumulate"
_RETURNED = "post accumulate grad hooks should return None"
_SCALES = ("div_", "mul_")
_LIMITS = (*_SCALES, "clamp_", "clamp_min_", "clamp_max_", "clip_", "nan_to_num_", "copy_")
_DECAYS = re.compile(r"decay|\bwd\b", re.IGNORECASE)


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
    How it is found: an operator that ran in the hook wrote to the parameter, and none of that call read the gradient or
        another tensor of the program's, as an update does. Where the function does not call its argument a gradient,
        it is a warning, and told only of a parameter that an optimizer steps and the hook divides or multiplies, or
        limits where the function is called, or described, as one that limits gradients. Where only what stands around
        it is called so, as limit_gradients(), it is a hint.
    """
    said: dict[Site | None, tuple[Cause, list[str]]] = {}
    for call in _calls(case):
        write = None if _is_an_update(case, call) else next(_writes(case, call), None)
        severity = None if write is None else _severity(case, call, write)
        if write is not None and severity is not None:
            leaves = said.setdefault(write.site, (_edits(call, write, severity), []))[1]
            leaves.extend({call.leaf}.difference(leaves))
    for cause, leaves in said.values():
        yield replace(cause, message=cause.message.format(parameters=several(leaves)), weight=len(leaves))
    yield from _returns(case)


def _returns(case: Case) -> Iterator[Cause]:
    for failure in case.failures():
        if _RETURNED in failure.message:
            hooks = _hooks(case)
            yield Cause(
                "a post-accumulate hook returned something: it gets the parameter, and what it returns is no gradient",
                hooks[0].site if hooks else failure.site,
                (Related("fails_at", failure.site),),
                fails=True,
                certain=len({one.stack for one in hooks}) == 1,
                backward=failure.backward,
            )


def _severity(case: Case, call: HookCall, write: Operation) -> Severity | None:
    """How sure it is that a write was meant for the gradient; None where it may be meant for the parameter."""
    if _says_gradient(case, call, write):
        return Severity.ERROR
    if _scales(case, call, write) or (_limits(case, call, write) and _is_said_to_limit(case, write)):
        return Severity.WARNING
    hinted = write.site is not None and stands_among_limits(case, write.site, call.hook.site)
    return Severity.INFO if hinted and _limits(case, call, write) else None


def _edits(call: HookCall, write: Operation, severity: Severity) -> Cause:
    return Cause(
        f"the hook {call.hook.name} gets a parameter itself ({{parameters}}), not its gradient, and edits it: "
        f"{base_name(write.name)} changes the weights",
        write.site,
        (Related("registered_at", call.hook.site, f"on {call.hook.on}"),),
        severity=severity,
        certain=severity is Severity.ERROR and bool(call.flow),
        node=call.node,
        op=write.name,
        tensor=call.leaf,
        backward=call.backward,
    )


def _hooks(case: Case) -> list[Hook]:
    return [one for one in case.hooks() if one.kind == _KIND]


def _calls(case: Case) -> Iterator[HookCall]:
    """The calls of hooks on parameters: where none of a line was followed, the first that edited one."""
    followed = [call for call in followed_hook_calls(case) if call.hook.kind == _KIND]
    known = {one.site for call in followed for one in call.operations}
    yield from followed
    yield from (call for call in _seen(case) if known.isdisjoint(one.site for one in call.operations))


def _seen(case: Case) -> Iterator[HookCall]:
    """The first calls of hooks that edited their parameter, whose operators are known and not what these read."""
    places = {(place.backward, place.node): place for place in case.hook_edits() if place.hook.kind == _KIND}
    for block in case.blocks() if places else ():
        inside: dict[HookPlace, list[Operation]] = defaultdict(list)
        for one in block.operations if block.backward is not None else ():
            place = places.get((block.backward or 0, -1 if one.node is None else one.node))
            if place is not None and ran_in(one, place.hook):
                inside[place].append(one)
        for place, operations in inside.items():
            yield HookCall(place.hook, place.hook.on, place.backward, place.node, operations)


def _is_an_update(case: Case, call: HookCall) -> bool:
    """Whether a call knows of the gradient, or reads a tensor that it neither got nor made: a mask, a moment."""
    if any(is_in_step(one.stack) or _asks_for_gradient(case, one) for one in call.operations):
        return True
    parameter, tensors = parameters_by_leaf(case).get(call.leaf), tensors_by_number(case)
    own = {parameter.storage} if parameter is not None else set()
    for one in call.flow:
        for tensor in (tensors.get(read.tensor) for read in one.reads):
            is_number = parameter is not None and tensor is not None and tensor.type.shape == () != parameter.type.shape
            if tensor is None or (tensor.storage not in own and not is_number):
                return True
        own.update(tensors[made].storage for made in one.makes if made in tensors)
    return False


def _writes(case: Case, call: HookCall) -> Iterator[Operation]:
    """The operators of a call that wrote to the parameter, `.data` of it too where tensors were followed."""
    parameter, tensors = parameters_by_leaf(case).get(call.leaf), tensors_by_number(case)
    for one in call.flow:
        if parameter is not None and parameter.storage in (
            tensors[made].storage for made in one.makes if made in tensors
        ):
            yield one.operation
    yield from (one for one in call.operations if any(write.leaf == call.leaf for write in one.writes))


def _scales(case: Case, call: HookCall, write: Operation) -> bool:
    """Whether a write does what is done to gradients and hardly to weights; not so a weight decay."""
    texts = [
        write.site.source or "" if write.site is not None else "",
        *(getattr(one, "name", "") for one in _functions(case, write)),
    ]
    by_a_number = any(one.operation is write and len(one.reads) == 1 for one in call.flow)
    is_scaled = by_a_number and base_name(write.name) in _SCALES and _is_stepped(case, call)
    return is_scaled and not any(map(_DECAYS.search, texts))


def _limits(case: Case, call: HookCall, write: Operation) -> bool:
    """Whether a write does what is done to limit gradients, and to weights as well."""
    return base_name(write.name) in _LIMITS and bool(call.flow) and _is_stepped(case, call)


def _is_stepped(case: Case, call: HookCall) -> bool:
    return call.leaf in {parameter.name for look in case.optimizer_looks() for parameter in look.parameters}


def _is_said_to_limit(case: Case, write: Operation) -> bool:
    return write.site is not None and says_it_limits(case, write.site)


def _asks_for_gradient(case: Case, operation: Operation) -> bool:
    functions = _functions(case, operation)
    return any(isinstance(node, ast.Attribute) and node.attr == "grad" for one in functions for node in ast.walk(one))


def _says_gradient(case: Case, call: HookCall, write: Operation) -> bool:
    """Whether the hook calls its argument a gradient; or, where no gradient was read, a function that it calls."""
    functions = _functions(case, write) if call.flow else _functions(case, write)[-1:]
    names = [one.arg.lower() for function in functions for one in function.args.args]
    return any(name == "g" or "grad" in name for name in names)


def _functions(case: Case, operation: Operation) -> list[source_lines.Definition]:
    """The program's functions around an operator, out to the hook that the engine called."""
    found = [source_lines.enclosing(case, site) for site in inside_hook(operation) if site.origin is Origin.USER]
    return [one for one in found if one is not None]
