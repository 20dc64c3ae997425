"""Which of the cuts on the way of a parameter is the one to mend: in the helper that cuts, or at its call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.lines.graph_cuts import MissingGradient
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, Way, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site, Stack, user_frames

_COLLECTIVE = "c10d"


def likeliest(flow: RecordedDataflow, way: Way, cuts: list[Cut], lost: set[Site | None]) -> Cut:
    """The cut that is least likely meant; of those alike, the nearest to the parameter.

    An argmin says which, not how much, and so does what only an argmin goes by. A parameter that is read while
    gradients are off, as in a rollout, or whose values are sent to other ranks or copied with a whole module, and that
    operators with a graph read as well, is cut by what follows these. A line where all of a summand is lost comes
    first.
    """
    return min(cuts, key=lambda cut: _doubt(flow, way, cut, lost))


def _doubt(flow: RecordedDataflow, way: Way, cut: Cut, lost: set[Site | None]) -> tuple[bool, ...]:
    operation = flow.operations[cut.operation]
    is_leaf = any(one.tensor == cut.read and one.leaf for one in operation.reads)
    at_rest = is_leaf and (not operation.operation.grad or _is_sent(flow, cut) or _is_deep_copy(flow, cut))
    elsewhere = any(flow.operations[at].operation.grad for at in way.operations if at != cut.operation)
    return flow.is_whole(cut.made) or flow.only_chooses(cut.made), at_rest and elsewhere, operation.site not in lost


def _is_sent(flow: RecordedDataflow, cut: Cut) -> bool:
    """Whether a wrapper, or the program, gives all ranks these values: it detaches them for a broadcast."""
    stack = flow.operations[cut.operation].operation.stack
    readers = flow.readers.get(cut.made, ()) if cut.made is not None else ()
    by_hand = any(flow.operations[at].operation.name.startswith(_COLLECTIVE) for at in readers)
    return by_hand or (bool(stack) and stack[0].origin is not Origin.USER and "distributed" in stack[0].file)


def _is_deep_copy(flow: RecordedDataflow, cut: Cut) -> bool:
    """Whether copy.deepcopy takes the values: of a module that is a copy, other lines say what it then holds."""
    return any(site.function == "__deepcopy__" for site in flow.operations[cut.operation].operation.stack)


def at_its_call(case: Case, cut: Cut, found: MissingGradient) -> MissingGradient:
    """The same at the line that calls the helper which cuts, where another call of it, with arguments that this one
    leaves at their defaults, has the values go on with their graph."""
    stack = dataflow(case).operations[cut.operation].operation.stack
    asked = _call_of(stack)
    if asked is None or found.cause.site != asked[0]:
        return found
    inside, called = asked
    mine = _arguments(case, called, inside.function)
    for other, at in _other_calls(case, asked):
        theirs = _arguments(case, other, inside.function)
        if mine is not None and theirs is not None and mine < theirs and _goes_on(case, at, (inside, other)):
            related = (Related("cut_at", inside, found.call), *found.cause.related)
            return replace(found, cause=replace(found.cause, site=called, related=related))
    return found


def _call_of(stack: Stack) -> tuple[Site, Site] | None:
    """The innermost line of the program, and the one that called its function."""
    own = user_frames(stack)
    return (own[0], own[1]) if len(own) > 1 else None


def _other_calls(case: Case, asked: tuple[Site, Site]) -> Iterator[tuple[Site, int]]:
    """Other lines whose call of the function came to the same line of it, each with the operator there."""
    seen = {asked[1]}
    for at, one in enumerate(dataflow(case).operations):
        pair = _call_of(one.operation.stack) if one.backward is None else None
        if pair is not None and pair[0] == asked[0] and pair[1] not in seen:
            seen.add(pair[1])
            yield pair[1], at


def _goes_on(case: Case, at: int, asked: tuple[Site, Site]) -> bool:
    """Whether behind an operator its function, in the same call, reads one of its values with their graph as well."""
    flow = dataflow(case)
    values = {read.tensor for read in flow.operations[at].reads if read.requires_grad}
    later = (flow.operations[one] for value in values for one in flow.readers.get(value, ()) if one > at)
    behind = (_call_of(one.operation.stack) for one in later if one.backward is None and one.operation.grad)
    return any(pair is not None and pair[0].is_in_function_of(asked[0]) and pair[1] == asked[1] for pair in behind)


def _arguments(case: Case, call: Site, function: str) -> int | None:
    """How many arguments the only call of a function in a line's statement gives; None where that is not known."""
    statement = syntax(case).statement(call)
    nodes = [] if statement is None else list(ast.walk(statement))
    calls = [one for one in nodes if isinstance(one, ast.Call) and called_name(one) == function]
    return len(calls[0].args) + len(calls[0].keywords) if len(calls) == 1 and not _unpacks(calls[0]) else None


def _unpacks(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
