"""GS911: a collective that returns its result is called as if it wrote into what it is given, as those of
torch.distributed do: the result is thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.rank import Collective
from gradscope.model.site import Site, Stack
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.thrown import is_statement, thrown_by, used_below
from gradscope.ranks.source.ways import forwards_of, is_collective, ways_of
from gradscope.store.reader import Recording, load

_FUNCTIONAL = "_c10d_functional"  # nobody follows the tensors of these
_REFILLS = frozenset(("copy_", "fill_", "zero_", "normal_", "uniform_"))
_STEPS = 2  # in which it is thrown away, at least: once, a program may try whether ranks reach each other


def throws_away(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A collective of torch.distributed.nn, or of torch.distributed._functional_collectives, that is called as a
        statement, where the program goes on with what it gave it.
    Why:
        Those of torch.distributed write into the tensor that they are given. These write into no tensor: they return
        what has come of all ranks. Thrown away, it is lost without a word, and each rank computes with its own.
    Wrong:
        counts = torch.bincount(choice, minlength=experts).float()
        torch.distributed.nn.functional.all_reduce(counts)
        share = counts / counts.sum()
    Right:
        counts = torch.bincount(choice, minlength=experts).float()
        counts = torch.distributed.nn.functional.all_reduce(counts)
        share = counts / counts.sum()
    Do instead:
        Assign what it returns; or call torch.distributed.all_reduce(counts), which writes into it, where no gradient
        has to come back through it.
    How it is found:
        The program's own line is a statement that is nothing but that call, by a group of several ranks, in two of the
        first steps at least. By the way of tensors nothing that the call makes is read by another line, and what it is
        given is: something is computed of it further on, before anything else is put into it or ranks exchange it. A
        token that only such calls read says nothing, nor does what is made for the call. The tensors of
        _functional_collectives are not followed: there the variable stands further down in the function. A hint: a
        program may time a collective, or meet the others by a number that it counts with.
    """
    met = [one for one in ranks.collectives if not one.inside and one.group is not None and len(one.group.members) > 1]
    if not met:
        return
    with load(Path(ranks.ranks[0].path)) as recording:
        met = [one for one in met if one.site is not None and is_statement(recording, one.site)]
        if met:
            yield from islice(chain(_followed(recording, met), _written(recording, met)), 1)


def _followed(recording: Recording, met: list[Collective]) -> Iterator[Blame]:
    """What the way of tensors tells."""
    found = _thrown_away(recording, {str(one.site) for one in met})
    if found is not None:
        yield _blame(found.name, found.site, found.used)


def _written(recording: Recording, met: list[Collective]) -> Iterator[Blame]:
    """What the source tells of collectives whose tensors are not followed."""
    if not any(one.operator.startswith(_FUNCTIONAL) for one in met):
        return
    steps: dict[tuple[str, Site], set[int]] = {}
    for backward, way in ways_of(recording).items():
        for one in way:
            name = thrown_by(recording, one.stack) if one.name.startswith(_FUNCTIONAL) else None
            if name is not None and one.site is not None:
                steps.setdefault((name, one.site), set()).add(backward)
    for (name, site), when in steps.items():
        used = used_below(recording, site) if len(when) >= _STEPS else None
        if used is not None:
            yield _blame(name, site, used)


def _blame(name: str, site: Site, used: Site | None) -> Blame:
    return Blame(
        f"{name}() writes into no tensor: what it returns is thrown away, and the rank goes on with what it has by "
        "itself",
        site,
        () if used is None else (Related("cause_at", used, "where it goes on with that"),),
        certain=False,
    )


@dataclass(slots=True)
class _Call:
    """One run of such a line: the storages that it was given and made, whether one of these was read by others, and
    the line that used one of those later; `is_shown`: it reads numbers out, and computes nothing."""

    site: Site
    name: str
    step: int
    given: set[int] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    is_read: bool = False
    used: Site | None = None
    is_shown: bool = False

    def follow(self, one: FlowOperation, read: set[int], made: set[int]) -> None:
        """Go on after an operator of another line."""
        self.is_read = self.is_read or not self.made.isdisjoint(read)
        given = self.given & read
        if not given:
            return
        if is_collective(one.operation.name) or _refills(one, given, made):
            self.given -= given
        elif (not made or made - given) and one.site is not None and (self.used is None or self.is_shown):
            self.used, self.is_shown = one.site, not made


@dataclass(slots=True)
class _Way:
    """Goes through what a rank ran, in the order of the operators."""

    recording: Recording
    lines: set[str]
    calls: list[_Call] = field(default_factory=list)
    names: dict[Stack, str | None] = field(default_factory=dict)

    def run(self) -> None:
        """Go through all of it."""
        storages = {one.number: one.storage for one in self.recording.flow_tensors()}
        now: _Call | None = None
        for step, one in forwards_of(self.recording):
            read = {storages[each.tensor] for each in one.reads if each.tensor in storages}
            made = {storages[each] for each in one.makes if each in storages}
            now = self._call(now, step, one)
            for call in self.calls:
                if one.site != call.site:
                    call.follow(one, read, made)
            if now is not None:
                now.given |= read - now.made - made
                now.made |= made

    def _call(self, now: _Call | None, step: int, one: FlowOperation) -> _Call | None:
        """The call of such a function that an operator is a part of."""
        name = None if one.site is None or str(one.site) not in self.lines else self._name(one.operation.stack)
        if name is None or one.site is None:
            return None
        if now is None or (now.site, now.step) != (one.site, step):
            now = _Call(one.site, name, step)
            self.calls.append(now)
        return now

    def _name(self, stack: Stack) -> str | None:
        if stack not in self.names:
            self.names[stack] = thrown_by(self.recording, stack)
        return self.names[stack]


def _thrown_away(recording: Recording, lines: set[str]) -> _Call | None:
    """A call whose result nothing reads, in several steps, though what it was given is used further on."""
    way = _Way(recording, lines)
    way.run()
    lost: dict[str, list[_Call]] = {}
    for call in way.calls:
        lost.setdefault(str(call.site), []).append(call)
    for calls in lost.values():
        used = sorted((one for one in calls if one.used is not None), key=lambda one: one.is_shown)
        if len({one.step for one in used}) >= _STEPS and not any(one.is_read for one in calls):
            return used[0]
    return None


def _refills(one: FlowOperation, given: set[int], made: set[int]) -> bool:
    """Whether an operator puts something else in the place of what a call was given."""
    return base_name(one.operation.name) in _REFILLS and given <= made
