"""Parameters that begin to get gradients in the middle of a run, while no optimizer that goes on to step holds them."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.steps.optimizer_parameters import is_updated_by_hand
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import last_name
from gradscope.model.flow import FlowTensor
from gradscope.model.site import Site
from gradscope.model.training import LEARN, STEP
from gradscope.store.asked import kept

_AROUND = 2  # steps of the optimizer between the looks at both sides of the change, and after it


@dataclass(frozen=True, slots=True)
class Thawed:
    """Such parameters: `optimizer` is where the one that steps was made, `site` what thawed them, where that is known.

    `backward` is the first call that was seen to reach them.
    """

    parameters: tuple[FlowTensor, ...]
    backward: int
    site: Site | None
    optimizer: Site | None


def thawed(case: Case) -> Thawed | None:
    """What an optimizer's backward calls come to reach that did not reach it before, and that it does not hold."""
    leaves: dict[int, set[int]] = defaultdict(set)
    for leaf in case.leaf_gradients():
        leaves[leaf.backward].add(leaf.tensor)
    if len(set(map(frozenset, leaves.values()))) < 2:
        return None
    held: dict[int, set[int]] = defaultdict(set)
    for look in case.optimizer_looks():
        held[look.optimizer].update(one.tensor for one in look.parameters)
    for optimizer, steps in _steps(case).items():
        looked = [number for number in steps if leaves.get(number, set()) & held[optimizer]]
        for before, after in pairwise(looked):
            first, last = steps.index(before), steps.index(after)
            if last - first < _AROUND or len(steps) - last < _AROUND:
                continue
            stepping = set().union(*(held[one] for one, of in _steps(case).items() if of[-1] >= after))
            new = [dataflow(case).tensors.get(one) for one in sorted(leaves[after] - leaves[before] - stepping)]
            found = tuple(one for one in new if one is not None and _is_left_out(case, one, leaves, after))
            if found:
                return Thawed(found, after, _line(case, before, after), made_at(case, optimizer))
    return None


@kept
def _steps(case: Case) -> dict[int, list[int]]:
    """The backward calls that an optimizer's steps followed, in order."""
    found: dict[int, list[int]] = defaultdict(list)
    for timeline in timelines(case):
        for at, call in timeline.of(STEP):
            place = bisect_left(timeline.backwards, at) - 1
            last = timeline.moments[timeline.backwards[place]].backward if place >= 0 else None
            if last is not None and found[call.optimizer or 0][-1:] != [last.number]:
                found[call.optimizer or 0].append(last.number)
    return found


def _is_left_out(case: Case, one: FlowTensor, leaves: dict[int, set[int]], after: int) -> bool:
    """Whether it is a module's parameter that each later look finds as well, and that nobody updates by hand."""
    later = [reached for number, reached in leaves.items() if number >= after]
    named = one.parameter and "." in (one.leaf or "")
    return named and all(one.number in reached for reached in later) and not is_updated_by_hand(case, one)


def _line(case: Case, before: int, after: int) -> Site | None:
    """The call that made parameters learn in between; else the one line of the source that speaks of it."""
    for timeline in timelines(case):
        for at, call in timeline.of(LEARN):
            following = next((one.backward.number for one in timeline.moments[at:] if one.backward is not None), None)
            if following is not None and before < following <= after:
                return call.site
    for kind in (_calls_to_thaw, _sets_requires_grad):
        found = list(syntax(case).everywhere(kind))
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _calls_to_thaw(node: ast.AST) -> bool:
    """`unfreeze(model)`, `set_requires_grad(model, True)`."""
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func).lower()
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return "unfreeze" in name or ("requires_grad" in name and any(map(_is_true, given)))


def _sets_requires_grad(node: ast.AST) -> bool:
    """`parameter.requires_grad = True`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
        return False
    return node.targets[0].attr == "requires_grad" and _is_true(node.value)


def _is_true(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
