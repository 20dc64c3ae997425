"""Answers `gradscope why PARAM`: the path from the loss to a parameter, or the place where it is cut."""

from __future__ import annotations

import difflib
from collections import deque

from gradscope.errors import NothingCheckedError, UsageError
from gradscope.explain.deductions.gradients.missing_gradients import missing_gradients
from gradscope.explain.deductions.lines.graph_cuts import MissingGradient, at_cut, at_exit, exit_at, module_of
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.findings.cuts.missing_gradient import reason_of
from gradscope.model.answer import PathStep, Why
from gradscope.model.graph import Graph
from gradscope.model.site import Site


def why(case: Case, asked: str) -> Why:
    """The shortest path in the last backward call that reached the parameter, or else where its values end.

    Raises UsageError when there is no such parameter, NothingCheckedError when the recording does not know.
    """
    name = _resolve(case, asked)
    for call in reversed(
        [call for call in case.backwards() if call.number in case.graph_sizes() and call.exception is None]
    ):
        graph = case.graph(call.number)
        leaf = next((node.id for node in graph.nodes if node.leaf == name), None)
        path = None if leaf is None else _path(graph, leaf)
        if path is not None:
            return Why(name, call.number, tuple(_step(graph, node) for node in path))
    return _cut(case, name)


def names(case: Case) -> set[str]:
    """The leaves that the recording can name."""
    known = {tensor.leaf for tensor in dataflow(case).tensors.values()}
    known |= {parameter.name for look in case.optimizer_looks() for parameter in look.parameters}
    for call in case.backwards()[-8:]:
        if call.number in case.graph_sizes():
            known |= {node.leaf for node in case.graph(call.number).nodes}
    return {name for name in known if name and name != NAMELESS}


def in_use(case: Case, asked: str) -> str:
    """The name by which the recording knows a parameter, if this is another of its names, or the end of one."""
    others = case.second_names()
    ends = {name for other, name in others.items() if other.endswith(f".{asked}")}
    return others.get(asked) or (ends.pop() if len(ends) == 1 and asked not in names(case) else asked)


def _resolve(case: Case, asked: str) -> str:
    known = names(case)
    asked = in_use(case, asked)
    if asked in known:
        return asked
    ends = sorted(name for name in known if name.endswith(f".{asked}"))
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise UsageError(f"{asked} may be {', '.join(ends)}", "give the whole name")
    near = difflib.get_close_matches(asked, known, 3) or sorted(known)[:6]
    hint = f"the recording knows {', '.join(near)}" if near else "the recording names no parameter"
    raise UsageError(f"there is no parameter {asked} in this recording", hint)


def _path(graph: Graph, target: int) -> list[int] | None:
    """The shortest path from a root to a node."""
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    before: dict[int, int | None] = dict.fromkeys(graph.roots)
    waiting = deque(graph.roots)
    while waiting:
        at = waiting.popleft()
        if at == target:
            path: list[int] = []
            step: int | None = at
            while step is not None:
                path.append(step)
                step = before[step]
            return path[::-1]
        for following in onward.get(at, ()):
            if following not in before:
                before[following] = at
                waiting.append(following)
    return None


def _step(graph: Graph, number: int) -> PathStep:
    node = graph.nodes[number]
    module = node.module.label if node.module else None
    return PathStep(f"{node.name} {node.leaf}" if node.leaf else node.name, node.site, module, number)


def _cut(case: Case, name: str) -> Why:
    """No backward reached it: follow its values."""
    flow = dataflow(case)
    tensors = [tensor.number for tensor in flow.tensors.values() if tensor.leaf == name]
    tensors += [one.tensor for look in case.optimizer_looks() for one in look.parameters if one.name == name]
    if not flow.operations or not tensors:
        raise NothingCheckedError(f"no backward reached {name}, and where its values went is not recorded")
    way = max((flow.onward(one) for one in dict.fromkeys(tensors)), key=lambda one: len(one.operations))
    found = _lost(case, name)
    if found is None:
        cuts = [cut for cut in way.cuts if cut.made in flow.useful] or way.cuts
        left = [at for at in way.operations if exit_at(case, at)]
        found = at_cut(case, cuts[0]) if cuts else at_exit(case, left[0]) if left else None
    last = next((at for at in way.operations if found is not None and _site(case, at) == found.cause.site), None)
    shown = [at for at in way.operations if last is None or at <= last]
    path = tuple(PathStep(_name(case, at), _site(case, at), module_of(case, at)) for at in shown)
    if found is not None:
        return Why(name, None, path, found.cause.site, reason_of(found), found.code)
    if not way.operations:
        return Why(name, None, (), None, "no operator that was looked at read it")
    return Why(name, None, path, path[-1].site, "what is computed from it does not go into a loss")


def _lost(case: Case, name: str) -> MissingGradient | None:
    return next((one for one in missing_gradients(case) if name in one.names), None)


def _site(case: Case, at: int) -> Site | None:
    return dataflow(case).operations[at].site


def _name(case: Case, at: int) -> str:
    return dataflow(case).operations[at].operation.name
