"""Buffers that keep what each rank puts in at some places, while the wrapper puts those of one rank in their place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.buffer_writes import written_on
from gradscope.ranks.source.ways import is_collective
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.rank_reader import read_buffers
from gradscope.store.reader import Recording, load

_WRAPPER = "torch/nn/parallel/distributed.py"
_AROUND = (_WRAPPER, "torch/distributed/utils.py")
_SENDS = frozenset(("_sync_module_buffers", "_sync_buffers"))  # in which the wrapper broadcasts, before a forward
_DEEPEST = 6  # frames of the wrapper's
_PLACES = frozenset(("index_put_", "_index_put_impl_", "index_copy_", "masked_scatter_", "scatter_"))  # values last
_COPIES = "copy_"
_FORWARDS = 2  # in which each rank puts something in, at least


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A buffer, and the line that puts in what is lost."""

    buffer: str
    site: Site


@dataclass(slots=True)
class _Buffer:
    """Memory that the wrapper broadcasts: in how many forwards, in how many of these something read it and a rank then
    put in its own at some places, and where; `ruled_out`: it was written otherwise, or exchanged, as well."""

    forwards: int = 0
    lost: int = 0
    read: bool = False
    written: bool = False
    site: Site | None = None
    module: str = ""
    ruled_out: bool = False


@dataclass(slots=True)
class _Forwards:
    """Goes through what a rank ran; by storage: buffers, what was made since the last backward call outside of modules
    or of that, what was exchanged, and the buffers that something was computed of."""

    recording: Recording
    tensors: dict[int, FlowTensor] = field(init=False)
    sizes: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, _Buffer] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    exchanged: set[int] = field(default_factory=set)
    holds: dict[int, frozenset[int]] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tensors = {one.number: one for one in self.recording.flow_tensors()}
        for one in self.tensors.values():
            self.sizes[one.storage] = max(self.sizes.get(one.storage, 0), math.prod(one.type.shape))

    def run(self) -> None:
        """Go through all of it."""
        run = 0
        for one in self.recording.flow():
            if one.run > run + 1 or one.backward is not None:
                self.own.clear()
                for each in self.buffers.values():
                    each.read, each.written = False, True  # until the wrapper broadcasts it again
            run = one.run
            if one.backward is None:
                self._forward(one)

    def _forward(self, one: FlowOperation) -> None:
        given = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
        made = {self.tensors[each].storage for each in one.makes if each in self.tensors}
        read = {each.storage for each in given}
        if one.operation.stack and one.operation.stack[0].file.endswith(_AROUND):
            self._wrapper(one, made)
        elif is_collective(one.operation.name):
            self.exchanged |= made
            for storage in (read | made) & self.buffers.keys():
                self.buffers[storage].ruled_out = True
        else:
            self._touch(one, given, made)
            self._follow(one, {each.storage for each in given if not each.parameter}, made)
        self.seen |= read | made

    def _wrapper(self, one: FlowOperation, made: set[int]) -> None:
        """What the wrapper puts into buffers before a forward."""
        sends = any(frame.function in _SENDS for frame in one.operation.stack[:_DEEPEST])
        for storage in made if sends and one.operation.writes and base_name(one.operation.name) == _COPIES else ():
            known = self.buffers.setdefault(storage, _Buffer())
            known.forwards += 1
            known.read = known.written = False

    def _touch(self, one: FlowOperation, given: list[FlowTensor], made: set[int]) -> None:
        """What an operator does to buffers: a view alone is no reading."""
        written = made & self.buffers.keys() if one.operation.writes else set()
        for storage in written:
            known = self.buffers[storage]
            if not self._puts_in_its_own(one, given, storage) or (known.site or one.site) != one.site:
                known.ruled_out = True
                continue
            known.lost += known.read and not known.written
            known.written, known.site = True, one.site
            known.module = "" if one.operation.module is None else unwrapped(one.operation.module.path or "")
        for storage in {each.storage for each in given} & self.buffers.keys() - made:
            self.buffers[storage].read |= not self.buffers[storage].written

    def _puts_in_its_own(self, one: FlowOperation, given: list[FlowTensor], storage: int) -> bool:
        """Whether an operator puts numbers that a rank computed of its own samples into a part of a buffer."""
        name, size = base_name(one.operation.name), math.prod(given[0].type.shape) if given else 0
        is_part = name in _PLACES or (name == _COPIES and size < self.sizes[storage])
        if not is_part or len(given) < 2 or given[0].storage != storage:
            return False
        value = given[-1]
        is_own = value.storage in self.own and value.storage not in self.exchanged
        is_computed = value.type.dtype.startswith(("float", "bfloat")) and math.prod(value.type.shape) > 1
        return is_own and is_computed and storage not in self.holds.get(value.storage, frozenset())

    def _follow(self, one: FlowOperation, read: set[int], made: set[int]) -> None:
        fresh = made - self.seen if one.operation.module is None else set()
        self.own |= fresh | (read - self.seen)
        if not self.own.isdisjoint(read):
            self.own |= made
        if not self.exchanged.isdisjoint(read):
            self.exchanged |= made
        held = frozenset(read & self.buffers.keys()).union(*(self.holds.get(each, frozenset()) for each in read))
        if held:
            self.holds.update((storage, held | self.holds.get(storage, frozenset())) for storage in made)


def overwritten(ranks: Ranks, replicas: Replicas) -> Overwritten | None:
    """The first such buffer that two replicas have, which do not see the same samples."""
    members = replicas.members[:2]
    if any(set(members) <= set(alike) for alike in ranks.losses.values()):
        return None
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(ranks.rank(number).path))) for number in members)
        apart = _apart(here, there)
        if not apart:
            return None
        found = next(_found(here, apart), None)
        return found if found is not None and found in _found(there, apart) else None


def _apart(here: Recording, there: Recording) -> set[str]:
    """The buffers whose norms are not the same numbers on both, at any look."""
    one, other = (dict[tuple[int, str], str](), dict[tuple[int, str], str]())
    for recording, norms in ((here, one), (there, other)):
        with damage_is_one_sentence(recording.path):
            for look in read_buffers(recording.tables.rows, recording.tables.interned, all_of_them=True):
                norms.update({(look.backward, name): norm for name, norm in look.norms})
    return {name for at, name in one.keys() & other.keys() if one[at, name] != other[at, name]}


def _found(recording: Recording, names: set[str]) -> Iterator[Overwritten]:
    forwards = _Forwards(recording)
    forwards.run()
    for one in forwards.buffers.values():
        is_lost = not one.ruled_out and one.lost >= _FORWARDS and 2 * one.lost > one.forwards
        if is_lost and one.site is not None:
            written = {name for name, _ in written_on(recording, one.site)}
            for name in sorted(map(unwrapped, names)):
                module, _, attribute = name.rpartition(".")
                if attribute in written and one.module in ("", module):
                    yield Overwritten(name, one.site)
