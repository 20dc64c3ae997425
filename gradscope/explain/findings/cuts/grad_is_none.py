"""GS719: the program fails because a .grad is None, often far from what kept the gradient away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.clearing_lines import zero_grad_between
from gradscope.explain.deductions.gradients.frozen_losses import freezing_lines
from gradscope.explain.deductions.gradients.missing_gradients import cut_off, missing_gradients
from gradscope.explain.deductions.lines.graph_cuts import at_cut, born
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.cuts.missing_gradient import reason_of
from gradscope.functions.source import called_name, last_name
from gradscope.model.failure import MissingGrad
from gradscope.model.finding import Related
from gradscope.model.site import Site, user_site

_ALL = ("parameters", "named_parameters")


def grad_is_none(case: Case) -> Iterator[Cause]:
    """A program that asks for a gradient which is not there.

    What it flags: the TypeError or AttributeError of a line that computes with a `.grad` which is None.
    Why: a backward leaves a gradient in the leaves that it reaches, and nowhere else. A result is no leaf, be it the
        parameter's copy on a device or its scaled start value; a leaf behind a detach() is not reached; a cleared
        gradient is None again.
    Wrong:
        weight = torch.randn(8, requires_grad=True) * 0.1     # a result: its .grad stays None
        loss(weight).backward()
        weight.data -= 0.01 * weight.grad
    Right:
        weight = (torch.randn(8) * 0.1).requires_grad_()
    Do instead: make a leaf of the value last of all, with requires_grad_(); call retain_grad() on a result whose
        gradient is wanted; do not take what leads to the loss out of the graph.
    How it is found: when the program ends with such an exception, the variables in front of `.grad` on its line are
        looked at. The line named made the result, cut the leaf off from the loss, or cleared the gradients. Where the
        line has none, and calls a function that returns a `.grad`, it is that return. Where some parameters are frozen
        on purpose, it is the line that asks all of them.
    """
    explained = {name for one in missing_gradients(case) for name in one.names}
    said: set[object] = set()
    for one in case.missing_grads():
        cause = None if one.name in explained else _why(case, one)
        if cause is not None and (cause.site, cause.message) not in said:
            said.add((cause.site, cause.message))
            failing = Related("fails_at", one.site, f"{one.name}.grad is None")
            related = (*cause.related, failing) if cause.site != one.site else cause.related
            yield replace(cause, related=related, fails=True, tensor=one.name)
    for failure in case.failures() if not said and not explained else ():
        returns = _returned_grad(case, failure.site) if "NoneType" in failure.message else None
        if returns is not None:
            site, text = returns
            message = f"`{text}` is None: no backward() has left a gradient in the tensor that this asks"
            yield Cause(message, site, (Related("fails_at", failure.site, failure.kind),), certain=False, fails=True)


def _returned_grad(case: Case, line: Site | None) -> tuple[Site, str] | None:
    """The only line of what a line calls that returns a `.grad`, and what it asks."""
    called = {last_name(one.func) for one in source_lines.at(case, line) if isinstance(one, ast.Call)}
    found = [
        (syntax(case).site(file, one.lineno), ast.unparse(one.value))
        for file in syntax(case).files
        for function in syntax(case).nodes(file)
        if isinstance(function, ast.FunctionDef) and function.name in called
        for one in ast.walk(function)
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Attribute) and one.value.attr == "grad"
    ]
    return found[0] if len(found) == 1 else None


def _why(case: Case, one: MissingGrad) -> Cause | None:
    what = f"`{one.name}.grad` is None"
    if not one.leaf:
        made = user_site(one.made) or one.site
        name = source_lines.assigned(case, made) or one.name
        told = f"{what}: `{name}` is the result of an operator, and torch keeps the gradients of leaves only"
        return Cause(told, made)
    if not one.requires_grad:
        return _without_grad(case, one, what)
    calls = [call for call in case.backwards() if call.exception is None and call.kind == "backward"]
    if not calls:
        return Cause(f"{what}: no backward() has run", one.site)
    if any(leaf.tensor == one.tensor for leaf in case.leaf_gradients()) or one.name in case.reached_leaves():
        cleared = zero_grad_between(case, calls[-1].site, one.site)
        return None if cleared is None else Cause(f"{what}: the gradients were cleared after backward", cleared)
    found = cut_off(case, dataflow(case).onward(one.tensor))
    if found is not None:
        return replace(found.cause, message=f"{what}: {reason_of(found)}")
    told = f"{what}: no backward() has reached `{one.name}`"
    return Cause(told, born(case, one.tensor) or one.site, certain=False)


def _goes_through_all(case: Case, line: Site | None) -> bool:
    """Whether a line asks each parameter of a module, in a loop or in a comprehension."""
    statement = None if line is None else syntax(case).statement(line)
    loop = None if line is None else syntax(case).loop(line)
    within = ast.walk(statement) if statement is not None else ()
    ways = [one.iter for one in (loop, *within) if isinstance(one, (ast.For, ast.comprehension))]
    calls = (one for way in ways for one in ast.walk(way) if isinstance(one, ast.Call))
    return any(called_name(one) in _ALL for one in calls)


def _without_grad(case: Case, one: MissingGrad, what: str) -> Cause:
    """Of a tensor that requires no grad: what took it out of the graph, or the line that made it."""
    cuts = dataflow(case).behind(one.tensor)
    if cuts:
        found = at_cut(case, cuts[0])
        return replace(found.cause, message=f"{what}, it requires no grad: {reason_of(found)}")
    frozen = freezing_lines(case)
    if frozen and case.reached_leaves() and _goes_through_all(case, one.site):
        told = f"{what}: `{one.name}` is frozen, and this asks all parameters for their gradients"
        advice = "ask those only whose .grad is not None"
        return Cause(told, one.site, (Related("cause_at", frozen[0], "frozen"),), advice=advice)
    return Cause(f"{what}: `{one.name}` requires no grad", born(case, one.tensor) or one.site, certain=False)
