"""GS756: hooks that edit the gradient which they get."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.hook import Hook, HookPlace
from gradscope.model.operation import Operation, base_name


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
