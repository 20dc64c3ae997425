"""Running statistics in plain tensors, told by the way of tensors alone: what was there when a step began is put
together, number by number, with what was computed over many samples, in place or under the old name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.source.sampled_lines import count, is_over
from gradscope.ranks.source.ways import forwards_of, is_collective
from gradscope.store.reader import Recording

_PICKS = frozenset(
    (
        *("index", "index_select", "gather", "embedding", "select", "slice", "narrow", "masked_select", "take"),
        *("topk", "sort", "unbind", "split", "chunk", "multinomial", "nonzero", "unfold", "randperm", "argsort"),
    )
)
_ADDS = frozenset(("index_add", "scatter_add", "scatter_reduce", "index_reduce", "addmm", "addmv", "addbmm", "baddbmm"))
_STEPS = 2  # in which a state is brought up to date, at least

Key = tuple[str, str, int]  # the line that brings a state up to date, the operator, and which of these in a step


@dataclass(slots=True)
class Update:
    """An operator that makes a state's next value of the last one (`old`, a storage) and of what stands for samples."""

    step: int
    key: Key
    old: int
    new: int
    operation: FlowOperation
    samples: Stack  # of what computed over them
    learned: bool  # whether that is a part of what is trained, as a loss is


@dataclass(slots=True)
class PlainState:
    """One that lives from step to step: the storages that it had, and what brings it up to date."""

    key: Key
    storages: frozenset[int]
    update: Update


@dataclass(slots=True)
class _Over:
    """What was computed over many samples: where, whether with gradients, and of which storages of before the step."""

    stack: Stack
    learned: bool
    of: frozenset[int]


@dataclass(slots=True)
class _Way:
    recording: Recording
    tensors: dict[int, FlowTensor]
    made_in: dict[int, int] = field(default_factory=dict)  # the step that last made or wrote a storage
    old: dict[int, frozenset[int]] = field(default_factory=dict)  # in this step: what is made of a state alone
    over: dict[int, _Over] = field(default_factory=dict)
    new: dict[int, Update] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    found: list[Update] = field(default_factory=list)
    step: int = 0

    def run(self) -> None:
        """Go through all of it."""
        for step, one in forwards_of(self.recording):
            if step != self.step:
                self.step = step
                for known in (self.old, self.over, self.new, self.counts):
                    known.clear()
            self._forward(one)

    def _forward(self, one: FlowOperation) -> None:
        read = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
        made = [self.tensors[each] for each in one.makes if each in self.tensors]
        storages = {each.storage for each in read}
        if not one.operation.writes and {each.storage for each in made} <= storages:
            return  # a view
        told = self._told(one, read, made)
        for each in made:
            for known in (self.old, self.over, self.new):
                known.pop(each.storage, None)
            if isinstance(told, Update):
                self.new[each.storage] = told
                self._note(told, each.storage)
            elif isinstance(told, _Over):
                self.over[each.storage] = told
            elif told is not None:
                self.old[each.storage] = told
            self.made_in[each.storage] = self.step

    def _told(
        self, one: FlowOperation, read: list[FlowTensor], made: list[FlowTensor]
    ) -> Update | _Over | frozenset[int] | None:
        """What an operator makes: a state's next value, something over many samples, what is made of an old value."""
        name = base_name(one.operation.name)
        learns = any(each.parameter for each in read) or any(each.leaf for each in one.reads)
        if learns or not made or not read or name in _PICKS or is_collective(one.operation.name):
            return None
        size = max(map(count, made))
        states = [roots for each in read if count(each) == size for roots in [self._roots(each)] if roots]
        if any(is_over(each, made[0]) for each in read):
            over = _Over(one.operation.stack, _learned(one), frozenset().union(*map(self._sources, read)))
            return self._update(one, states, made[0], over) if states and name.rstrip("_") in _ADDS else over
        overs = [self.over[each.storage] for each in read if each.storage in self.over]
        if any(each.requires_grad for each in one.reads):
            return overs[0] if overs and self._is_small(read, size) else None
        news = [self.new[each.storage] for each in read if each.storage in self.new]
        if states and (news or (overs and not all(one.of <= states[0] for one in overs))):
            over = _Over(news[0].samples, news[0].learned, frozenset()) if news else overs[0]
            return self._update(one, states, made[0], over)
        return self._passed_on(read, size, news, overs, states)

    def _passed_on(
        self, read: list[FlowTensor], size: int, news: list[Update], overs: list[_Over], states: list[frozenset[int]]
    ) -> Update | _Over | frozenset[int] | None:
        """What is made of one of these and of nothing else but single numbers is one, too."""
        if news:
            return news[0] if all(count(each) in (1, size) or self._is_kept(each) for each in read) else None
        if overs:
            return overs[0] if self._is_small(read, size) else None
        return states[0] if states and all(self._roots(each) or count(each) == 1 for each in read) else None

    def _update(self, one: FlowOperation, states: list[frozenset[int]], made: FlowTensor, over: _Over) -> Update:
        """That a state's next value is made of the last one and of what is over samples."""
        roots = frozenset().union(*states)
        old = made.storage if made.storage in roots else min(roots)
        return Update(self.step, self._key(one), old, 0, one, over.stack, over.learned)

    def _is_small(self, read: list[FlowTensor], size: int) -> bool:
        """Whether what is made has no more numbers than went into it, and only what is over samples has many."""
        others = (each for each in read if each.storage not in self.over and not self._roots(each))
        return size <= sum(map(count, read)) and all(count(each) == 1 for each in others)

    def _is_kept(self, tensor: FlowTensor) -> bool:
        """Whether something is made of states alone: a codebook is sums by counts, of which there are fewer."""
        return tensor.storage in self.new or bool(self._roots(tensor))

    def _roots(self, tensor: FlowTensor) -> frozenset[int]:
        """The storages of before this step that a tensor is, or is made of alone."""
        known = self.old.get(tensor.storage)
        if known is not None:
            return known
        is_older = self.made_in.get(tensor.storage, self.step) < self.step and not tensor.parameter
        return frozenset((tensor.storage,)) if is_older else frozenset()

    def _sources(self, tensor: FlowTensor) -> frozenset[int]:
        over = self.over.get(tensor.storage)
        return self._roots(tensor) or (over.of if over is not None else frozenset((-1,)))

    def _key(self, one: FlowOperation) -> Key:
        line = str(one.site), one.operation.name
        self.counts[line] = self.counts.get(line, 0) + 1
        return (*line, self.counts[line])

    def _note(self, update: Update, storage: int) -> None:
        self.found.append(
            Update(update.step, update.key, update.old, storage, update.operation, update.samples, update.learned)
        )


def plain_states(recording: Recording, tensors: dict[int, FlowTensor]) -> Iterator[PlainState]:
    """The states of a rank, in the order in which they are first brought up to date."""
    way = _Way(recording, tensors)
    way.run()
    by_key: dict[Key, list[Update]] = {}
    for one in way.found:
        by_key.setdefault(one.key, []).append(one)
    for key, updates in by_key.items():
        kept = [one for one in updates if one.old == one.new or any(_follows(one, each) for each in updates)]
        if len({one.step for one in kept}) >= _STEPS:
            yield PlainState(key, frozenset(each for one in kept for each in (one.old, one.new)), kept[0])


def sampled_at(update: Update) -> Site | None:
    """The line, in the function that brings a state up to date or in the nearest that calls it, that computes over the
    samples; else its own: what is trained by, as a loss, is computed for that."""
    site = update.operation.site
    if site is None or update.learned:
        return site
    around = user_frames(update.operation.operation.stack)
    same = (
        one for frame in around for one in update.samples if (one.file, one.function) == (frame.file, frame.function)
    )
    return next(same, site)


def _follows(one: Update, other: Update) -> bool:
    """Whether one is of the step before or after the other, and one makes what the other begins with."""
    first, second = (one, other) if one.step < other.step else (other, one)
    return second.step == first.step + 1 and second.old == first.new


def _learned(one: FlowOperation) -> bool:
    return one.operation.grad and any(each.requires_grad for each in one.reads)
