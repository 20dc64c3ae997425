"""Derivatives that a condition on their shape keeps out of what ranks exchange: torch.autograd.grad() fills no `.grad`,
so that what moves each leaf is told by the way of tensors alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.core.copies import Apart, Replicas, apart_words, first_apart, looks_of
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.part_norms import REPLACES
from gradscope.ranks.replicas.stepped_by_hand import exchanging
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.syntax import at_line, of_loop
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_STEPS, _LOOKS = 2, 2  # that are followed, and at which a leaf is apart, at least
_SHAPES = frozenset(("ndim", "dim", "shape", "numel", "size", "nelement"))
_MOST = 0.5  # of the leaves: the others are exchanged
_LISTS = "aten._foreach_"


def kept_back(ranks: Ranks) -> Iterator[Blame]:
    """A hint at what is moved by each rank's own derivative: it may be meant to be a part of its own."""
    replicas = exchanging(ranks)
    kept = None if replicas is None else _kept_by_shape(ranks, replicas)
    if kept is not None:
        found, site = kept
        yield Blame(
            f"{unwrapped(found.leaf)} is not the same on all ranks before backward {found.backward} "
            f"({apart_words(found)}): this leaves its derivative out of those that ranks exchange",
            site,
            certain=False,
            backward=found.backward,
            tensor=found.leaf,
            meant=True,
        )


def _kept_by_shape(ranks: Ranks, replicas: Replicas) -> tuple[Apart, Site] | None:
    """The first leaf that its own derivatives move on each rank, and the condition by which the others' are chosen that
    ranks exchange: only where as many leaves are apart, and all others stay equal."""
    looks = looks_of(ranks.derived, replicas)
    found = first_apart(ranks.derived, replicas, looks[1:], bool)
    later = [] if found is None else [look for look in looks if look >= found.backward]
    if found is None or len(later) < _LOOKS or first_apart(ranks.derived, replicas, looks[:1], bool) is not None:
        return None
    apart = len(_names_apart(ranks, replicas, later[-1]))
    with ExitStack() as files:
        paths = (ranks.rank(number).path for number in (found.odd[0], replicas.members[0]))
        told = [_told(files.enter_context(load(Path(path))), apart) for path in paths]
    return (found, told[0]) if told[0] is not None and str(told[0]) == str(told[1]) else None


def _names_apart(ranks: Ranks, replicas: Replicas, look: int) -> set[str]:
    names: set[str] = set()
    while (one := first_apart(ranks.derived, replicas, [look], lambda leaf: leaf not in names)) is not None:
        names.add(one.leaf)
    return names


@dataclass(slots=True)
class _Way:
    """By storage: derivatives of a rank's own and what is made of them, and what is made of exchanged ones; which
    leaves, in each step, either has moved; under which stacks ranks met for some."""

    tensors: dict[int, FlowTensor]
    leaves: set[int]
    own: set[int] = field(default_factory=set)
    met: set[int] = field(default_factory=set)
    steps: list[tuple[int, int]] = field(default_factory=list)  # how many leaves own ones moved, and exchanged ones
    by_own: set[int] = field(default_factory=set)
    by_met: set[int] = field(default_factory=set)
    stacks: list[Stack] = field(default_factory=list)

    def end(self) -> None:
        """The end of a step."""
        if self.by_own or self.by_met:
            self.steps.append((len(self.by_own - self.by_met), len(self.by_met - self.by_own)))
            if self.by_own & self.by_met:
                self.steps.append((0, 0))  # what moves one is not known
        self.by_own, self.by_met = set(), set()

    def forward(self, one: FlowOperation) -> None:
        """An operator outside of all derivatives."""
        for reads, made in _pairs(one, self.tensors):
            by_own, by_met = bool(reads & self.own), bool(reads & self.met)
            if is_collective(one.operation.name):
                if by_own:
                    self.stacks.append(one.operation.stack)
                    self.own -= reads | made
                    self.met |= reads | made
            elif made & self.leaves:
                self.by_own |= made if by_own else set()
                self.by_met |= made if by_met else set()
            else:
                self.own = self.own | made if by_own else self.own - made
                self.met = self.met | made if by_met else self.met - made


def _pairs(one: FlowOperation, tensors: dict[int, FlowTensor]) -> Iterator[tuple[set[int], set[int]]]:
    """The storages that an operator makes one thing of, and that of this: of lists, one after the other."""
    reads = [tensors[each.tensor] for each in one.reads if each.tensor in tensors]
    made = [tensors[each].storage for each in one.makes if each in tensors]
    replaces = base_name(one.operation.name) in REPLACES
    if one.operation.name.startswith(_LISTS):
        many = len(made) or _many(reads)
        for at in range(many):
            given = [each.storage for each in reads[at::many]]
            yield set(given[1:] if replaces else given), set(made[at : at + 1] or given[:1])
        return
    given = [each.storage for each in reads]
    made = made or (given if one.operation.writes else made)
    yield set(given) - (set(made) if replaces else set()), set(made)


def _many(reads: list[FlowTensor]) -> int:
    """How many tensors each of the lists has that an operator was given: they have the same shapes."""
    shapes = [one.type.shape for one in reads]
    fits = (many for many in range(len(shapes) // 2, 0, -1) if shapes[:many] * (len(shapes) // many) == shapes)
    return next(fits, len(shapes))


def _told(recording: Recording, apart: int) -> Site | None:
    """The condition on a shape, where in each step own derivatives move as many leaves as are apart, and exchanged ones
    most others."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    read = (each.tensor for one in recording.flow() if one.backward is None for each in one.reads if each.leaf)
    way, before = _Way(tensors, {tensors[each].storage for each in read if each in tensors}), None
    for one in recording.flow():
        if one.backward is None:
            way.forward(one)
            continue
        if one.backward != before:
            before = one.backward
            way.end()
        made = {tensors[each].storage for each in one.makes if each in tensors}
        way.own, way.met = way.own | (made - way.leaves), way.met - made
    way.end()
    followed = set(way.steps)
    if len(way.steps) < _STEPS or len(followed) != 1:
        return None
    ((alone, together),) = followed
    is_rest = alone == apart and together > _MOST * (alone + together)
    return _selected(recording, way.stacks[0]) if is_rest and way.stacks else None


def _selected(recording: Recording, stack: Stack) -> Site | None:
    """The condition on a shape by which what ranks meet for was chosen, in the function that meets or its callers'."""
    frames = [one for one in frames_of(recording, stack) if not isinstance(one.function, ast.Module)]
    for at, frame in enumerate(frames):
        nodes, line = list(ast.walk(frame.function)), frame.site.line
        loops = [one for one in nodes if isinstance(one, ast.For) and one.lineno < line <= (one.end_lineno or 0)]
        asked = next((test for loop in loops for test in _passing_by(loop, line) if _asks_for_a_shape(test)), None)
        if asked is not None:
            return at_line(recording, frame.site, asked.lineno)
        calls = [one for one in nodes if isinstance(one, ast.Call) and one.lineno <= line <= (one.end_lineno or 0)]
        values = (*calls, *(loop.iter for loop in loops))
        found = (origin(recording, frames[at:], value, _chooses) for value in values)
        site = next(filter(None, found), None)
        if site is not None:
            return site
    return None


def _passing_by(loop: ast.For, line: int) -> Iterator[ast.expr]:
    """The conditions in a loop under which a trip does not come to a line."""
    for node in of_loop(loop):
        if not isinstance(node, ast.If) or node.lineno >= line:
            continue
        if line <= (node.end_lineno or 0) or isinstance(node.body[-1], ast.Continue):
            yield node.test


def _chooses(value: ast.expr) -> bool:
    """Whether a value is what a condition on a shape leaves of something."""
    parts = [one for node in ast.walk(value) for one in getattr(node, "generators", ())]
    filters = [one for one in ast.walk(value) if isinstance(one, ast.Call) and called_name(one) == "filter"]
    return any(_asks_for_a_shape(test) for one in parts for test in one.ifs) or any(map(_asks_for_a_shape, filters))


def _asks_for_a_shape(test: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _SHAPES for one in ast.walk(test))
