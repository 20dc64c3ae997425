"""Parameters that an optimizer held, and that no one holds since the same line made another, though they get gradients.

What shrinks so on purpose was chosen anew each time; what was an iterator is empty when the line runs again.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.memory.one_shots import one_shot
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.flow import OptimizerLook
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import MADE

_TIMES = 2  # backward calls that give them gradients which no one uses


@dataclass(frozen=True, slots=True)
class LostWhenRemade:
    """The line that makes what was gone through, the one that makes the optimizer, and what this lost."""

    site: Site
    made: Site
    leaves: tuple[str, ...]


def lost_when_remade(case: Case) -> Iterator[LostWhenRemade]:
    """Those of each line that made several optimizers, with an iterator that was made before."""
    looks = {look.optimizer: look for look in reversed(case.optimizer_looks())}  # the first of each
    lines = defaultdict[Site, list[tuple[Stack, OptimizerLook]]](list)
    for timeline in timelines(case):
        for _, call in timeline.of(MADE):
            own = user_frames(call.stack)
            if own and call.optimizer in looks:
                lines[own[0]].append((own, looks[call.optimizer]))
    for made, ones in lines.items():
        lost = _lost(case, [look for _, look in ones]) if len(ones) > 1 else ()
        site = _gone_through(case, ones[1][0]) if lost else None
        if site is not None:
            yield LostWhenRemade(site, made, lost)


def _lost(case: Case, looks: list[OptimizerLook]) -> tuple[str, ...]:
    """What the first optimizer of a line held and none held later, where gradients still reach it."""
    first, second = looks[0], looks[1]
    if second.backward is None:
        return ()
    later = {one.tensor for look in case.optimizer_looks() if _is_after(look, second) for one in look.parameters}
    lost = {one.tensor: one.name for one in first.parameters if one.tensor not in later}
    reached = defaultdict[int, set[int]](set)
    for leaf in case.leaf_gradients():
        if leaf.tensor in lost and leaf.backward >= second.backward:
            reached[leaf.tensor].add(leaf.backward)
    return tuple(name for tensor, name in lost.items() if len(reached[tensor]) >= _TIMES)


def _is_after(look: OptimizerLook, second: OptimizerLook) -> bool:
    return look.backward is not None and second.backward is not None and look.backward >= second.backward


def _gone_through(case: Case, own: Stack) -> Site | None:
    """The line of an iterator that the functions around the making of an optimizer read, and did not make anew."""
    for frame in own:
        around, loop = syntax(case).function(frame), syntax(case).loop(frame)
        if around is None:
            return None
        part = around if isinstance(around, ast.FunctionDef) and loop is None else loop
        inside = list(ast.walk(part)) if part is not None else []
        lines = {node.lineno for node in inside if isinstance(node, ast.stmt)}
        for node in inside:
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                site = one_shot(case, frame.file, node)
                if site is not None and site.line not in lines:
                    return site
        if loop is not None:
            return None
    return None
