"""GS764: a learned scale, exp() of a parameter, that nothing bounds, and a loss that leapt."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_FIRST = 16  # losses that another is compared with
_LEAPT = 10  # how many times as large as all of those
_GROWN = 2.0  # of the norm of the parameter: exp(2) is more than 7
_SCALES = ("mul", "div")


def unbounded_scale(case: Case) -> Iterator[Cause]:
    """What it flags: a parameter of which exp() is taken to scale something learned, has grown, and the loss has leapt.

    Why: what fits well asks for a larger scale, a precision or an inverse temperature, without end: exp() of a
    parameter that grows evenly grows ever faster. One batch that fits less, or a step that is now too large, is then
    multiplied by thousands.

    Wrong:
        weight = self.log_weight.exp()
        loss = weight * error - self.log_weight

    Right:
        weight = self.log_weight.clamp(max=4).exp()
        loss = weight * error - self.log_weight.clamp(max=4)

    Do instead: clamp the parameter before exp(), or what exp() gives.

    How it is found: exp() reads a parameter as it is, and what it gives multiplies or divides something that requires
    grad. The parameter's norm has grown to two and more, and a later loss is ten times as large as each of the first
    sixteen. A hint.
    """
    losses = list(case.losses().values())
    first = max(map(abs, losses[:_FIRST]), default=0.0)
    if len(losses) <= _FIRST or not max(map(abs, losses[_FIRST:])) > _LEAPT * first > 0:
        return
    flow, grown = dataflow(case), _grown(case)
    said: set[Site] = set()
    for operation in flow.operations:
        is_exp = base_name(operation.operation.name) == "exp" and operation.backward is None and operation.makes
        leaf = flow.tensors.get(operation.reads[0].tensor) if is_exp and operation.reads[0].requires_grad else None
        if leaf is None or leaf.leaf not in grown or operation.site is None or operation.site in said:
            continue
        readers = (flow.operations[at] for at in flow.readers.get(operation.makes[0], ()))
        scaled = [one for one in readers if one.backward is None and _scales(one)]
        if scaled:
            said.add(operation.site)
            place = scaled[0].site
            yield Cause(
                f"this scale has no upper bound: {_called(leaf.leaf)} has grown, and the loss has leapt after that",
                operation.site,
                (Related("called_at", place, "scales"),) if place not in (None, operation.site) else (),
                certain=False,
                tensor=leaf.leaf,
            )


def _called(leaf: str | None) -> str:
    return "its parameter" if leaf in (None, NAMELESS) else str(leaf)


def _scales(operation: FlowOperation) -> bool:
    """Whether an operator multiplies or divides two tensors that require grad."""
    learned = {one.tensor for one in operation.reads if one.requires_grad}
    return base_name(operation.operation.name) in _SCALES and len(learned) > 1


def _grown(case: Case) -> frozenset[str]:
    """The parameters whose norm has become two and more, and twice what it was."""
    looks = samples_of(case)
    first = {name: size.weight for name, size in looks[0].items()} if looks else {}
    return frozenset(
        name
        for look in looks
        for name, size in look.items()
        if size.weight >= max(_GROWN, 2 * first.get(name, size.weight))
    )
