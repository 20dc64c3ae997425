"""Copies of a model that a program steps by hand, by what torch.autograd.grad() gives and ranks exchange in each step,
and that part nevertheless: each rank steps them by a number of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.site import Stack
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import at_line
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_STEPS, _LOOKS = 2, 2  # in which what was exchanged steps a copy, and at which it is apart, at least
_MOSTLY = 0.7  # of the steps that are followed
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)


def parted_by_hand(ranks: Ranks) -> Iterator[tuple[Apart, Told]]:
    """The first parameter that was the same on all ranks, and is not at any look from one on, and why."""
    replicas = exchanging(ranks)
    looks = [] if replicas is None else looks_of(ranks.derived, replicas)
    if replicas is None or len(looks) <= _LOOKS or first_apart(ranks.derived, replicas, looks[:1], bool) is not None:
        return
    found = first_apart(ranks.derived, replicas, looks, bool)
    later = [] if found is None else [look for look in looks if look >= found.backward]
    if found is None or len(later) < _LOOKS or not all(_is_apart(ranks, found, look) for look in later):
        return
    with ExitStack() as files:
        paths = (ranks.rank(number).path for number in (found.odd[0], replicas.members[0]))
        here, there = (_stepping(files.enter_context(load(Path(path)))) for path in paths)
        if here is None or there is None or str(here[1]) != str(there[1]):
            return
    yield found, here


def exchanging(ranks: Ranks) -> Replicas | None:
    """All ranks, where none is known to average a `.grad`, and all of them meet in one group."""
    members = tuple(one.rank for one in ranks.ranks)
    if any(one.is_wrapped or one.by_hand or one.in_hooks or one.derived for one in ranks.averaging.values()):
        return None
    keys = {one.group.key for one in ranks.collectives if one.group is not None and not one.between_two}
    is_one = len(keys) == 1 and len(members) > 1 and set(next(iter(keys))[1]) == set(members)
    return Replicas(members, keys.pop()) if is_one else None


def _is_apart(ranks: Ranks, found: Apart, look: int) -> bool:
    return first_apart(ranks.derived, found.replicas, [look], found.leaf.__eq__) is not None


@dataclass(slots=True)
class _Way:
    """By storage: derivatives of a rank's own and what is made of them, and what is made of exchanged ones."""

    tensors: dict[int, FlowTensor]
    leaves: set[int]
    own: set[int] = field(default_factory=set)
    met: set[int] = field(default_factory=set)
    stepped: dict[int, Stack] = field(default_factory=dict)  # by step: the first that moves a leaf by these
    touching: set[str] = field(default_factory=set)  # lines by way of which either was read, or ranks met
    is_alone: bool = False  # a leaf is moved by a derivative of the rank's own
    step: int = 0

    def forward(self, one: FlowOperation) -> None:
        """An operator outside of all derivatives."""
        read = {self.tensors[each.tensor].storage for each in one.reads if each.tensor in self.tensors}
        made = {self.tensors[each].storage for each in one.makes if each in self.tensors}
        made = made or (read if one.operation.writes else made)  # of a list, nothing is given back
        by_own, by_met = bool(read & self.own), bool(read & self.met)
        meets = is_collective(one.operation.name)
        if meets or by_own or by_met:
            self.touching.update(map(str, one.operation.stack))
        if meets and by_own:
            self.own -= read | made
            self.met |= read | made
        elif made & self.leaves:
            self.is_alone = self.is_alone or by_own
            if by_met:
                self.stepped.setdefault(self.step, one.operation.stack)
        else:
            self.own = self.own | made if by_own else self.own - made
            self.met = self.met | made if by_met and not by_own else self.met - made


def _stepping(recording: Recording) -> Told | None:
    """Why copies part that all followed steps move by exchanged derivatives, and the line of the rank's own number."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    read_as_leaves = (
        each.tensor for one in recording.flow() if one.backward is None for each in one.reads if each.leaf
    )
    leaves = {tensors[each].storage for each in read_as_leaves if each in tensors}
    way, before = _Way(tensors, leaves), None
    for one in recording.flow():
        if one.backward is None:
            way.forward(one)
            continue
        if one.backward != before:
            before, way.step = one.backward, way.step + 1
        made = {tensors[each].storage for each in one.makes if each in tensors}
        way.own, way.met = way.own | (made - leaves), way.met - made
    if way.is_alone or len(way.stepped) < _STEPS or len(way.stepped) < _MOSTLY * way.step:
        return None
    stack = next(iter(way.stepped.values()))
    frames = frames_of(recording, stack)
    return _told(recording, frames, way.touching) if frames else None


def _told(recording: Recording, frames: list[Frame], touching: set[str]) -> Told:
    site = frames[0].site
    number = max(_numbers(frames[0], touching), default=None)
    if number is None:
        return "ranks exchange derivatives, and each moves it by more than these", site
    why = (
        f"ranks exchange derivatives, and line {site.line} moves it by a number that each rank computes here by itself"
    )
    return why, at_line(recording, site, number)


def _numbers(frame: Frame, touching: set[str]) -> Iterator[int]:
    """The lines that compute in each step, by a call, what a line reads, by way of what is made of derivatives, and
    touch none themselves."""
    nodes = list(ast.walk(frame.function))
    lines = {frame.site.line}
    waiting = [one for one in nodes if isinstance(one, _STATEMENTS) and _holds(one, frame.site.line)]
    for statement in waiting:  # grows while it is walked
        read = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)}
        for one in nodes:
            if not isinstance(one, ast.Assign) or one.lineno in lines or not _is_of_each_step(frame, one.lineno):
                continue
            names = {each.id for target in one.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            if not names & read:
                continue
            lines.add(one.lineno)
            if f"{frame.site.file}:{one.lineno}" in touching:
                waiting.append(one)
            elif any(map(_is_call, ast.walk(one.value))):
                yield one.lineno


def _is_of_each_step(frame: Frame, line: int) -> bool:
    """Whether a line stands above another of its function, and in a loop around that, where there is one."""
    nodes = ast.walk(frame.function)
    loops = [one for one in nodes if isinstance(one, (ast.For, ast.While)) and _holds(one, frame.site.line)]
    return line < frame.site.line and (not loops or any(_holds(one, line) for one in loops))


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)
