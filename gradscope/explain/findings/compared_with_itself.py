"""GS896: a loss that compares what a model gives with what the same model gives for the same input."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.computed_again import computed_again, parting
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.own_ratios import ratios_of_one
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_TIMES = 3
_COMPARE = ("mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss")
_DIVERGENCE = "kl_div"


def compared_with_itself(case: Case) -> Iterator[Cause]:
    """What it flags: the target of a loss was computed without gradients, by the same weights from the same input, as
    what it is compared with.

    Why: both are equal, so that the loss is zero, and its gradient too. A teacher, or the model of before, that is
    another name for the model itself changes with it: it holds nothing back.

    Wrong:
        previous = model
        loss = F.kl_div(model(x).log_softmax(-1), previous(x).softmax(-1).detach())

    Right:
        previous = copy.deepcopy(model).requires_grad_(False)
        loss = F.kl_div(model(x).log_softmax(-1), previous(x).softmax(-1))

    Do instead: copy.deepcopy() the model before it goes on.

    How it is found: in three steps or more, mse_loss or the like, or kl_div, reads two results of the same operators
    over the same tensors, one of them without gradients; none of these operators draws random numbers, as dropout does,
    and some compute with weights. A hint where the clipped surrogate of a policy's loss divides by a probability that
    the same weights have just given: the ratio is one, though the same data is used for several steps.
    """
    yield from ratios_of_one(case)
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    again: dict[Site, list[Site]] = {}
    for at, operation in enumerate(flow.operations):
        found = computed_again(flow, at) if _compares(operation) else None
        if found is not None and operation.site is not None:
            times[operation.site] += 1
            again[operation.site] = parting(*found)
    for site, count in times.items():
        if count >= _TIMES:
            calls = again[site]
            named = next((found for found in (_second_name(case, call) for call in calls) if found is not None), None)
            if named is not None:
                place, name = named
                told = f"`{name}` is another name for the model that it is compared with: the loss is zero"
            else:
                place = calls[0] if calls else site
                told = "this gives what the same weights give for the same input: a loss that compares both is zero"
            related = (Related("called_at", site, "compares"),) if place != site else ()
            yield Cause(told, place, related, certain=False)


def _compares(operation: FlowOperation) -> bool:
    name = base_name(operation.operation.name)
    if operation.backward is not None or len(operation.reads) != 2:
        return False
    in_divergence = name == "mul" and any(
        site.function == _DIVERGENCE and site.origin is Origin.TORCH for site in operation.operation.stack
    )
    return (name in _COMPARE or in_divergence) and sum(one.requires_grad for one in operation.reads) == 1


def _second_name(case: Case, call: Site) -> tuple[Site, str] | None:
    """The only line that gives what a line calls its name, where that is another name: `previous = model`."""
    statement = syntax(case).statement(call)
    calls = (one for one in ast.walk(statement or ast.Module([], [])) if isinstance(one, ast.Call))
    names = {last_name(one.func) for one in calls}
    given = [
        (file, node)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and last_name(node.targets[0]) in names
    ]
    if len(given) != 1 or not isinstance(given[0][1].value, (ast.Name, ast.Attribute)):
        return None
    file, node = given[0]
    return syntax(case).site(file, node.lineno), last_name(node.targets[0])
