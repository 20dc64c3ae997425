"""GS873, GS874: what a hook does to a gradient, and the optimizer undoes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.optimizer_parameters import is_updated_by_hand
from gradscope.explain.deductions.steps.weight_decays import decay_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, OptimizerLook
from gradscope.model.hook import Hook
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.model.training import CLIP

_BY_SIZE = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "SparseAdam")
_FACTORS = {"mul", "div"}
_ZEROS = {"fill", "zero", "masked_fill", "index_fill"}
_DRAWS = {"bernoulli", "dropout", "native_dropout", "rand", "rand_like", "randn", "randn_like", "uniform", "random"}
_GRADIENT, _MASKED = 1, 2  # tensors that an operator of the hook reads


def factor_cancelled(case: Case) -> Iterator[Cause]:
    """What it flags: a hook that multiplies the gradient of a parameter by a number, where Adam or its like steps it.

    Why: such an optimizer divides each gradient by its own running size. A factor is in both, and goes out: the
    parameter moves as fast as without the hook.

    Wrong:
        head.weight.register_hook(lambda gradient: gradient * 10)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    Right:
        optimizer = torch.optim.Adam([{"params": body}, {"params": head, "lr": 1e-2}], lr=1e-3)

    Do instead: give what shall learn faster a group of its own, with its own lr.

    How it is found: all that the hook computes is a product with a number, the parameter is held by an optimizer that
    goes by the size of gradients, and nothing clips them in between. A hint: a factor that differs from step to step
    does something.
    """
    if any(True for timeline in timelines(case) for _ in timeline.of(CLIP)):
        return
    for hook, look in _held(case):
        inside = _inside(case, hook)
        alone = all(len(one.reads) == _GRADIENT for one in inside)
        if look.name in _BY_SIZE and inside and alone and {_base(one) for one in inside} <= _FACTORS:
            message = f"{look.name} divides gradients by their size: the factor of this hook goes out: {hook.on} learns"
            made = made_at(case, look.optimizer)
            related = () if made is None else (Related("shared_at", made, look.name),)
            yield Cause(f"{message} no faster and no slower", hook.site, related, certain=False, tensor=hook.on)
            return


def decay_moves_frozen(case: Case) -> Iterator[Cause]:
    """What it flags: a hook that sets a part of a gradient to zero, where the optimizer has weight decay.

    Why: a gradient of zero holds nothing by itself: weight decay draws all weights towards zero in each step, those
    that the hook means to keep as well.

    Wrong:
        weight.register_hook(zero_old_rows)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)

    Right:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.0)

    Do instead: give such parameters a group without weight decay, or put the rows back after each step.

    How it is found: the hook writes zeros into the gradient or multiplies it by another tensor; the call that made the
    optimizer, or the group that names what the parameter is of, asks for weight decay; and where elements are compared
    before and after steps, on a CPU, steps move those that the gradient does not. The program does not write to the
    parameter by itself. A hint: the mask may have no zeros.
    """
    for hook, look in _held(case):
        inside = _inside(case, hook)
        line = decay_line(case, look, hook) if _masks(inside) and _keeps(case, hook, look, inside) else None
        if line is not None:
            message = f"weight decay moves what the hook {hook.name} on {hook.on} keeps from the gradient"
            yield Cause(message, line, (Related("registered_at", hook.site, hook.on),), certain=False, tensor=hook.on)
            return


def _masks(inside: list[FlowOperation]) -> bool:
    """Whether operators of a hook set a part of the gradient to zero, it may be, and always the same part."""
    bases = {_base(one) for one in inside}
    masks = any(_base(one) == "mul" and len(one.reads) == _MASKED for one in inside)
    return (masks or bool(bases & _ZEROS)) and not bases & _DRAWS


def _keeps(case: Case, hook: Hook, look: OptimizerLook, inside: list[FlowOperation]) -> bool:
    """Whether nothing else puts back what the hook kept, and no gradient was measured in which it left no zeros."""
    since = min(one.backward for one in inside if one.backward is not None)
    shares = [one.zero_share for one in case.sizes() if one.leaf == hook.on and one.backward >= since]
    number = next(one.tensor for one in look.parameters if one.name == hook.on)
    tensor = dataflow(case).tensors.get(number)
    return (not shares or max(shares) > 0) and (tensor is None or not is_updated_by_hand(case, tensor))


def _held(case: Case) -> Iterator[tuple[Hook, OptimizerLook]]:
    """Each hook on a parameter, with the last look at an optimizer that holds it."""
    held = {one.name: look for look in case.optimizer_looks() for one in look.parameters}
    for hook in case.hooks():
        if hook.kind == "tensor" and hook.on in held and hook.site is not None:
            yield hook, held[hook.on]


def _inside(case: Case, hook: Hook) -> list[FlowOperation]:
    """The operators that the hook's own lines called in backward calls."""
    operations = (one for one in dataflow(case).operations if one.backward is not None)
    return [one for one in operations if one.site is not None and _is_of(case, hook, one.site)]


def _is_of(case: Case, hook: Hook, site: Site) -> bool:
    """Whether a line is one of the hook's: a function by its name, an object by its class's, a lambda by its line."""
    name, function = hook.name.rpartition(".")[2], site.function.rpartition(".")[2]
    if name == "<lambda>":
        return function == name and hook.site is not None and (site.file, site.line) == (hook.site.file, hook.site.line)
    if function != "__call__":
        return function == name
    classes = (one for one in syntax(case).nodes(site.file) if isinstance(one, ast.ClassDef) and one.name == name)
    return any(one.lineno <= site.line <= (one.end_lineno or 0) for one in classes)


def _base(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).rstrip("_")
