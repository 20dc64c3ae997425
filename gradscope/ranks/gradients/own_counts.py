"""Which operators scale a loss by a count that a rank has taken of its own data, by the way of tensors: nothing that it
is made of went through a model or a collective."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_COUNTS = frozenset(
    (
        *("sum", "count_nonzero", "mean", "nansum", "bincount", "dot", "linalg_vector_norm", "cumsum", "max", "amax"),
        *("histc", "prod", "any", "all", "numel"),
    )
)
_SCALES = frozenset(("div", "div_", "mul", "mul_", "true_divide", "_foreach_div_", "_foreach_mul_"))
_SELECTS = frozenset(("masked_select", "index"))
_SENDS = ("broadcast_", "broadcast")  # one rank's to all: what one adds to it then is its own


@dataclass(slots=True)
class OwnCounts:
    """By line, and whether it divides there: whether it scales losses by a tensor of a rank's own counts, and whether
    by nothing but such and numbers of Python's. `selected`, by line: whether all that was selected by a mask was so by
    one that no model made."""

    by_counts: dict[tuple[str, bool], bool] = field(default_factory=dict)
    plain: dict[tuple[str, bool], bool] = field(default_factory=dict)
    selected: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class _Memory:
    """By storage: what was computed of parameters, what came of others, and what is counted of data. `last` is the
    stretch of operators before."""

    last: int | None = None
    learned: set[int] = field(default_factory=set)
    met: set[int] = field(default_factory=set)
    counted: set[int] = field(default_factory=set)

    def leaps(self, one: FlowOperation) -> bool:
        """Whether operators were left out before this one: ranks may have met for what they had counted."""
        leaps = self.last is not None and one.run > self.last + 1
        self.last = one.run
        if leaps:
            self.met |= self.counted
        return leaps

    def run(self, one: FlowOperation, read: list[int], made: list[int]) -> None:
        """Go on after an operator."""
        name = base_name(one.operation.name)
        if is_collective(one.operation.name):
            self.met.update(() if name in _SENDS else (*read, *made))
            self.counted.difference_update(read, made)
            return
        if one.operation.writes and name in ("zero_", "fill_"):
            read = []
        for known in (self.learned, self.met, self.counted):
            _carry(known, read, made)
        if any(each.requires_grad for each in one.reads) or one.backward is not None:
            self.learned.update(made)
        if name in _COUNTS and read:
            self.counted.update(made)

    def is_own_count(self, storage: int) -> bool:
        """Whether what lies there is a count of this rank's data, and nothing else."""
        return storage in self.counted and storage not in self.learned and storage not in self.met


def _carry(known: set[int], read: list[int], made: list[int]) -> None:
    if not known.isdisjoint(read):
        known.update(made)
    else:
        known.difference_update(made)


def own_counts(recording: Recording) -> OwnCounts:
    """What scales losses, and what selects them, in the steps whose operators are known one by one."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    memory, found = _Memory(), OwnCounts()
    for one in recording.flow():
        read = [storages[each.tensor] for each in one.reads if each.tensor in storages]
        made = [storages[each] for each in one.makes if each in storages]
        if one.site is not None and one.backward is None and one.operation.grad:
            _note(found, memory, one, one.site, read)
        memory.run(one, read, made)
    return found


def _note(found: OwnCounts, memory: _Memory, one: FlowOperation, site: Site, read: list[int]) -> None:
    name, line = base_name(one.operation.name), str(site)
    learns = [each.requires_grad for each in one.reads]
    if name in _SCALES and any(learns):
        others = [at for each, at in zip(learns, read, strict=False) if not each]
        by_count = len(read) == len(learns) and len(others) == 1 and memory.is_own_count(others[0])
        place = (line, "div" in name)
        found.by_counts[place] = found.by_counts.get(place, False) or by_count
        found.plain[place] = found.plain.get(place, True) and (by_count or len(learns) == 1)
    if name in _SELECTS and learns[:1] == [True]:
        is_given = not any(learns[1:]) and memory.learned.isdisjoint(read[1:])
        found.selected[line] = found.selected.get(line, True) and is_given


def gradients_by_own_counts(recording: Recording) -> frozenset[Site]:
    """The lines that scale gradients by a count of the rank's own, after a backward and before ranks meet."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    memory, gradients, sites = _Memory(), set[int](), set[Site]()
    for one in recording.flow():
        read = [storages[each.tensor] for each in one.reads if each.tensor in storages]
        made = [storages[each] for each in one.makes if each in storages]
        if memory.leaps(one):
            gradients.clear()
        if one.backward is not None:
            gradients.update(made)
        elif is_collective(one.operation.name):
            gradients.clear()
        elif base_name(one.operation.name) in _SCALES and one.site is not None:
            by_counts = [at for at in read if memory.is_own_count(at)]
            if len(by_counts) == 1 and gradients.issuperset({*read} - {*by_counts}) and len(read) > 1:
                sites.add(one.site)
        memory.run(one, read, made)
    return frozenset(sites)
