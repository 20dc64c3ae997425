"""The way of buffers to where samples are normalised by them: (samples - mean) / deviation, which a layer then reads.

What ranks exchange, and what has a gradient, as the features that a BatchRenorm normalises, is no matter of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.source.buffer_writes import written_on
from gradscope.ranks.source.ways import forwards_of, is_collective
from gradscope.store.reader import Recording

_TAKES_OFF = frozenset(("sub", "sub_"))
_SCALES = frozenset(("div", "mul", "div_", "mul_"))
_AS_IT_IS = frozenset(
    ("clamp", "clamp_", "clone", "_to_copy", "contiguous", "detach", "nan_to_num", "cat", "_unsafe_view", "unsqueeze")
)
_STEPS = 2  # in which a layer reads what is normalised, and a rank writes the buffers, at least

_Held = frozenset[str]  # names of buffers


@dataclass(frozen=True, slots=True)
class Normalising:
    """The buffers by which samples are normalised, the lines that first write one and that divide, and how many numbers
    the largest of them holds."""

    buffers: _Held
    writes: Site
    divides: Site
    largest: int


@dataclass(slots=True)
class _Way:
    """Goes through what a rank ran; by storage: buffers and what is made of them alone, samples without such a mean,
    samples that are normalised, and by which line."""

    recording: Recording
    names: frozenset[tuple[str, str]]
    tensors: dict[int, FlowTensor] = field(init=False)
    weights: frozenset[int] = field(init=False)
    kept: dict[int, _Held] = field(default_factory=dict)
    made_of: dict[int, _Held] = field(default_factory=dict)
    centred: dict[int, _Held] = field(default_factory=dict)
    normalised: dict[int, tuple[_Held, Site]] = field(default_factory=dict)
    exchanged: set[int] = field(default_factory=set)
    written: dict[str, set[int]] = field(default_factory=dict)  # the steps in which a buffer is
    first: dict[str, Site] = field(default_factory=dict)
    used: dict[tuple[_Held, Site], set[int]] = field(default_factory=dict)
    attributes: dict[str, frozenset[str]] = field(default_factory=dict)
    sent: bool = False
    step: int = 0

    def __post_init__(self) -> None:
        self.tensors = {one.number: one for one in self.recording.flow_tensors()}
        self.weights = frozenset(one.storage for one in self.tensors.values() if one.parameter)

    def run(self) -> None:
        """Go through all of it."""
        for step, one in forwards_of(self.recording):
            self.step = step
            self._forward(one)

    def _forward(self, one: FlowOperation) -> None:
        read = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
        made = {self.tensors[each].storage for each in one.makes if each in self.tensors}
        if is_collective(one.operation.name):
            self._exchange({each.storage for each in read} | made)
            return
        self._use(one, read)
        names = self._written_by(one)
        storages = {each.storage for each in read}
        if not names and not one.operation.writes and made <= storages:
            return  # a view
        held = [self._held(each) for each in read]
        known = [self.normalised[each.storage] for each in read if each.storage in self.normalised]
        lacks_mean = self.centred.get(read[0].storage) if read else None
        self._forget(made)
        self._pass_on(storages, made)
        if names:
            self._write(one, names, storages, made)
        elif any(held) and all(ours or _is_number(each) for ours, each in zip(held, read, strict=True)):
            self.made_of.update(dict.fromkeys(made, frozenset().union(*held)))
        elif known and base_name(one.operation.name) in _AS_IT_IS:
            self.normalised.update(dict.fromkeys(made, known[0]))
        elif len(read) == 2 and held[1] and not held[0] and not any(each.requires_grad for each in one.reads):
            self._normalise(one, _count(read[0]) > _count(read[1]), lacks_mean, held[1], made)

    def _normalise(self, one: FlowOperation, more: bool, lacks_mean: _Held | None, held: _Held, made: set[int]) -> None:
        """What an operator makes of samples and of what is made of buffers; `more`: the samples are more numbers."""
        name = base_name(one.operation.name)
        if name in _TAKES_OFF and more:
            self.centred.update(dict.fromkeys(made, held))
        elif name in _SCALES and lacks_mean is not None and one.site is not None:
            self.normalised.update(dict.fromkeys(made, (lacks_mean | held, one.site)))

    def _exchange(self, storages: set[int]) -> None:
        """What is sent at the start, as all weights are, says nothing of later."""
        if self.step:
            self.sent = self.sent or not storages.isdisjoint(self.kept.keys() | self.made_of.keys())
            self.exchanged |= storages

    def _pass_on(self, read: set[int], made: set[int]) -> None:
        if (self.exchanged & read) - self.weights:  # a wrapper or a start sends these, and all computes with them
            self.exchanged |= made
        else:
            self.exchanged -= made - read

    def _use(self, one: FlowOperation, read: list[FlowTensor]) -> None:
        """A layer reads what is normalised, to learn of it."""
        if one.operation.grad and any(each.parameter for each in read):
            for each in read:
                if each.storage in self.normalised:
                    self.used.setdefault(self.normalised[each.storage], set()).add(self.step)

    def _written_by(self, one: FlowOperation) -> _Held:
        """The buffers that an operator's line writes, in their module or outside of any."""
        site, module = one.site, one.operation.module
        if site is None:
            return frozenset()
        if str(site) not in self.attributes:
            self.attributes[str(site)] = frozenset(name for name, _ in written_on(self.recording, site))
        on_line = self.attributes[str(site)]
        path = None if module is None else unwrapped(module.path or "")
        return frozenset(
            f"{owner}.{name}".lstrip(".") for owner, name in self.names if name in on_line and path in (None, "", owner)
        )

    def _write(self, one: FlowOperation, names: _Held, read: set[int], made: set[int]) -> None:
        self.sent = self.sent or not self.exchanged.isdisjoint(read | made)
        self.kept.update(dict.fromkeys(made, names))
        for name in names if one.site is not None else ():
            self.written.setdefault(name, set()).add(self.step)
            self.first.setdefault(name, one.site or Site("", 0))

    def _held(self, tensor: FlowTensor) -> _Held:
        return self.kept.get(tensor.storage) or self.made_of.get(tensor.storage) or frozenset()

    def _forget(self, storages: set[int]) -> None:
        for storage in storages:
            for known in (self.made_of, self.centred, self.normalised):
                known.pop(storage, None)


def _is_number(tensor: FlowTensor) -> bool:
    return _count(tensor) == 1 and not tensor.parameter


def _count(tensor: FlowTensor) -> int:
    return prod(tensor.type.shape)


def normalising(recording: Recording, names: Iterable[str]) -> Normalising | None:
    """By which of some buffers a rank normalises its samples, where it never exchanges any."""
    owned = (unwrapped(name).rpartition(".") for name in names)
    way = _Way(recording, frozenset((owner, name) for owner, _, name in owned))
    way.run()
    for (held, divides), steps in way.used.items():
        often = frozenset(name for name in held if len(way.written[name]) >= _STEPS)
        if often and len(steps) >= _STEPS and not way.sent:
            sizes = (_count(one) for one in way.tensors.values() if way.kept.get(one.storage, frozenset()) & often)
            return Normalising(often, way.first[min(often)], divides, max(sizes))
    return None
