"""GS896: a loss that compares what a model gives with what the same model gives for the same input."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.computed_again import computed_again, parting
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.objectives.own_ratios import ratios_of_one
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_TIMES = 3
_COMPARE = ("mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss")
_DIVERGENCE = "kl_div"
_DIFFERENCE = "sub"
_SCALED = ("sub", "rsub", "add", "mul", "div", "neg", "mean", "sum", "squeeze", "view")
_PREFERS = ("log_sigmoid_forward", "softplus")  # of a difference that is to become large
_STEPS = 8  # operators between a difference and these


def compared_with_itself(case: Case) -> Iterator[Cause]:
    """What it flags: the target of a loss was computed without gradients, by the same weights from the same input, as
    what it is compared with. Or both were computed from one tensor that has no gradient.

    Why: both are equal, so that the loss is zero, and its gradient too. A teacher, or the model of before, that is
    another name for the model itself changes with it: it holds nothing back. A preference of one answer over another,
    by how much more likely both have become, has no answers of before to compare with.

    Wrong:
        previous = model
        loss = F.kl_div(model(x).log_softmax(-1), previous(x).softmax(-1).detach())

    Right:
        previous = copy.deepcopy(model).requires_grad_(False)
        loss = F.kl_div(model(x).log_softmax(-1), previous(x).softmax(-1))

    Do instead: copy.deepcopy() the model before it goes on.

    How it is found: in three steps or more, mse_loss or the like, kl_div, or a difference that goes into logsigmoid or
    softplus, reads two results of the same operators over the same tensors, one of them without gradients; none of
    these operators draws random numbers, as dropout does, and some compute with weights, which nothing wrote to
    between the two. Or neither has gradients, both come from one tensor, and a loss has them as a part.
    A hint where the clipped surrogate of a policy's loss divides by a probability that the same weights have just
    given: the ratio is one, though the same data is used for several steps.
    """
    yield from ratios_of_one(case)
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    again: dict[Site, _Again] = {}
    for at, operation in enumerate(flow.operations):
        found = _computed_again(case, at) if _compares(flow, at) else None
        if found is not None and operation.site is not None:
            times[operation.site] += 1
            again.setdefault(operation.site, found)
    for site, count in times.items():
        if count >= _TIMES:
            yield _cause(case, site, again[site])


@dataclass(frozen=True, slots=True)
class _Again:
    """The operators, with weights if any is, that computed what is compared, and the same for the other side."""

    one: FlowOperation
    other: FlowOperation
    difference: bool = False
    constant: bool = False


def _cause(case: Case, site: Site, found: _Again) -> Cause:
    calls = parting(found.one, found.other)
    place = calls[0] if calls else site
    if found.constant:
        place = _given_twice(case, found) or site
        told = "this is compared with what was made of the same tensor, which has no gradient: it trains nothing"
    else:
        named = next((each for each in (_second_name(case, call) for call in calls) if each is not None), None)
        what = "the difference" if found.difference else "the loss"
        told = f"this gives what the same weights give for the same input: {what} that compares both is zero"
        if named is not None:
            place, name = named
            told = f"`{name}` is another name for the model that it is compared with: {what} is zero"
    related = (Related("called_at", site, "compares"),) if place != site else ()
    return Cause(told, place, related, certain=False)


def _compares(flow: RecordedDataflow, at: int) -> bool:
    operation = flow.operations[at]
    name = base_name(operation.operation.name)
    if operation.backward is not None or len(operation.reads) != 2:
        return False
    learned = sum(one.requires_grad for one in operation.reads)
    if name == _DIFFERENCE and learned == 1:
        return _is_preferred(flow, at)
    in_divergence = name == "mul" and any(
        site.function == _DIVERGENCE and site.origin is Origin.TORCH for site in operation.operation.stack
    )
    is_part = learned == 0 and operation.operation.grad and not flow.useful.isdisjoint(operation.makes)
    return (name in _COMPARE or in_divergence) and (learned == 1 or is_part)


def _is_preferred(flow: RecordedDataflow, at: int) -> bool:
    """Whether a difference goes into the logarithm of a sigmoid, as it is or scaled."""
    for _ in range(_STEPS):
        made = flow.operations[at].makes
        at = next((one for one in flow.readers.get(made[0], ()) if one > at), -1) if made else -1
        name = base_name(flow.operations[at].operation.name) if at >= 0 else ""
        if name in _PREFERS:
            return True
        if name not in _SCALED:
            break
    return False


def _computed_again(case: Case, at: int) -> _Again | None:
    """What computed both that a loss compares, where both were computed alike."""
    compares = dataflow(case).operations[at]
    constant = not any(one.requires_grad for one in compares.reads)
    found = computed_again(case, at, weighs=not constant)
    is_difference = base_name(compares.operation.name) == _DIFFERENCE
    return None if found is None else _Again(found[0], found[1], is_difference, constant)


def _given_twice(case: Case, found: _Again) -> Site | None:
    """The line that makes one side of what it should make the other of, or that hands one thing under two names."""
    sides = [[one for one in each.operation.stack if one.origin is Origin.USER] for each in (found.one, found.other)]
    if not all(sides) or sides[0][0] == sides[1][0]:
        return None
    read = [_loaded(syntax(case).statement(side[0])) for side in sides]
    return sides[0][1] if read[0] != read[1] and sides[0][1:2] == sides[1][1:2] != [] else sides[0][0]


def _loaded(statement: ast.AST | None) -> set[str]:
    """The names that a statement reads."""
    names = (one for one in ast.walk(statement or ast.Module([], [])) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}


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
