"""GS898: averaged weights that an evaluation copies into the model, and from which the training goes on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.deductions.memory.overwritten_weights import Overwriting, is_memory_replaced, overwritings
from gradscope.explain.deductions.steps.running_averages import (
    averaged_places,
    averaging_lines,
    loops,
    places_of,
    read_places,
    times_run,
)
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site, Stack, user_site

_TIMES = 2  # evaluations: once is a phase that begins with the average
_OFTENER = 4  # times as often the average is brought up to date as copied: Lookahead does both together
_COPIES = ("copy_", "load_state_dict")
_LISTS = "_foreach_copy_"


def average_left(case: Case) -> Iterator[Cause]:
    """What it flags: averaged weights that are copied into the model to evaluate them, and stay there.

    Why: a running average lags behind. It is evaluated in the place of the weights, which are to be put back after
    that. Else each epoch starts from the average, while the optimizer's moments belong to the weights that are gone.

    Wrong:
        average.copy_to(model.parameters())
        validate(model)

    Right:
        average.store(model.parameters())
        average.copy_to(model.parameters())
        validate(model)
        average.restore(model.parameters())

    Do instead: keep a copy of the weights and put it back after the evaluation, or evaluate a model of its own.

    How it is found: between two backward calls all that an optimizer trains is overwritten, forwards without gradients
    follow, and the next forward of the training runs with no other write to the weights. It comes again, and what is
    copied is what a line averages the parameters into, by its name, four times as often as it is copied. Where a
    function gives the model another name, copies into that and returns it, this line is named. A hint: some methods
    mean it.
    """
    found = [one for one in overwritings(case) if one.times >= _TIMES]
    if not found or is_memory_replaced(case):
        return
    averages = averaging_lines(case)
    for one in found:
        at, copied = _beside(one), times_run(case, one.copy.site)
        for average in averages:
            site = user_site(average)
            if _is_copied(case, one, average) and times_run(case, site) >= _OFTENER * copied:
                alias = _taken_for_a_copy(case, one)
                where, by = ("into the model here", at) if alias is None else ("into what is still the model", alias)
                called = () if alias is None else (Related("called_at", at, "copied"),)
                yield Cause(
                    f"averaged weights are copied {where}, evaluated, and not put back: {one.times} times the training "
                    "goes on from the average",
                    by,
                    (
                        *called,
                        Related("called_at", one.evaluation.site, "evaluated"),
                        Related("made_at", site, "averaged"),
                    ),
                    certain=False,
                    op=one.copy.name,
                )
                break


def _beside(one: Overwriting) -> Site | None:
    """The line that copies, in the function that evaluates as well."""
    found = one.copy.site
    for copy, evaluation in zip(_outermost_first(one.copy.stack), _outermost_first(one.evaluation.stack), strict=False):
        if not copy.is_in_function_of(evaluation):
            break
        found = copy
    return found


def _taken_for_a_copy(case: Case, one: Overwriting) -> Site | None:
    """The line `other = model` of a function that copies into the other name, and gives it back as another model."""
    site = one.copy.site
    function = syntax(case).function(site) if site is not None else None
    if site is None or not isinstance(function, ast.FunctionDef):
        return None
    written = {name for call in calls_at(case, site) for name in _written(function, call)}
    given_back = {ast.unparse(node.value) for node in ast.walk(function) if isinstance(node, ast.Return) and node.value}
    given = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    for name in written & given_back - given:
        made = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
        plain = [node for node in ast.walk(function) if isinstance(node, ast.Assign) and _is_alias(node, name, given)]
        if len(plain) == 1 == sum(isinstance(node.ctx, ast.Store) for node in made):
            return syntax(case).site(site.file, plain[0].lineno, function.name)
    return None


def _written(function: ast.FunctionDef, call: ast.Call) -> set[str]:
    """The names that a call which copies writes to, or to parts of."""
    values = _copied(call)
    names = set() if values is None else names_in(values[0])
    known = -1
    while known != len(names):
        known = len(names)
        for target, source in loops(function):
            if not names.isdisjoint(names_in(target)):
                names |= names_in(source)
    return names


def _is_alias(node: ast.Assign, name: str, given: set[str]) -> bool:
    """Whether it gives an argument this other name."""
    named = [one.id for one in node.targets if isinstance(one, ast.Name)]
    return named == [name] and isinstance(node.value, ast.Name) and node.value.id in given


def _outermost_first(stack: Stack) -> list[Site]:
    return [site for site in reversed(stack) if site.origin is Origin.USER]


def _is_copied(case: Case, one: Overwriting, average: Stack) -> bool:
    """Whether what is copied is an average, the model that it belongs to, or a part of that; and into what it is of."""
    for call in calls_at(case, one.copy.site) if one.copy.site is not None else ():
        values = _copied(call)
        if values is not None:
            target, source = (places_of(case, one.copy.stack, value) for value in values)
            averaged = averaged_places(case, average)
            if (one.known or target & read_places(case, average)) and _is_within(source, averaged):
                return True
    return False


def _copied(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """What a call that copies writes, and from what."""
    if called_name(call) == _LISTS and len(call.args) > 1:
        return call.args[0], call.args[1]
    if called_name(call) in _COPIES and isinstance(call.func, ast.Attribute) and call.args:
        return call.func.value, call.args[0]
    return None


def _is_within(copied: set[str], averaged: set[str]) -> bool:
    pairs = ((f"{one}.", f"{other}.") for one in copied for other in averaged)
    return any(one.startswith(other) or other.startswith(one) for one, other in pairs)
