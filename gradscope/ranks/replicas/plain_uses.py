"""What is computed by running statistics in plain tensors: samples that are scaled by them, or looked up in them, and
that what is trained is then given."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.replicas.plain_updates import Key, PlainState
from gradscope.ranks.source.sampled_lines import count
from gradscope.ranks.source.ways import forwards_of, is_collective
from gradscope.store.reader import Recording

_SCALES = frozenset(("div", "mul", "div_", "mul_", "divide", "true_divide", "addcdiv", "addcmul", "pow"))
_TABLES = frozenset(("_cdist_forward", "cdist", "mm", "bmm", "addmm", "embedding", "index", "index_select", "gather"))
_LOSSES = ("nll_loss", "binary_cross_entropy", "multi_margin_loss", "poisson_nll")
_DRAWS = frozenset(("multinomial", "bernoulli", "bernoulli_", "normal", "poisson", "rand_like", "randn_like"))
_FILLS = frozenset(("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full"))

_Keys = frozenset[Key]
_NONE: _Keys = frozenset()


@dataclass(slots=True)
class PlainUses:
    """Goes through what a rank ran; by state: the steps in which something is learned by it and where it is used, and
    whether it meets what ranks exchange."""

    recording: Recording
    states: list[PlainState]
    tensors: dict[int, FlowTensor]
    used: dict[Key, set[int]] = field(default_factory=dict)
    lines: dict[Key, Site] = field(default_factory=dict)
    sent: set[Key] = field(default_factory=set)
    kept: dict[int, set[Key]] = field(default_factory=dict)
    updates: dict[tuple[int, int], Key] = field(default_factory=dict)
    held: dict[int, _Keys] = field(default_factory=dict)  # by storage: made of these states alone
    steered: dict[int, _Keys] = field(default_factory=dict)  # by storage: computed by these
    exchanged: set[int] = field(default_factory=set)
    weights: frozenset[int] = frozenset()
    step: int = 0

    def run(self) -> None:
        """Go through all of it."""
        self.weights = frozenset(one.storage for one in self.tensors.values() if one.parameter)
        for state in self.states:
            for storage in state.storages:
                self.kept.setdefault(storage, set()).add(state.key)
        for step, one in forwards_of(self.recording):
            self.step = step
            self._forward(one)

    def _forward(self, one: FlowOperation) -> None:
        read = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
        made = {self.tensors[each].storage for each in one.makes if each in self.tensors}
        storages = {each.storage for each in read}
        if is_collective(one.operation.name):
            self._exchange(storages | made)
            return
        if base_name(one.operation.name) == "copy_":
            read, storages = read[-1:], {each.storage for each in read[-1:]}  # what it writes over is not read
        held = [self._held(each.storage) for each in read]
        steered = _NONE.union(*(self.steered.get(each, _NONE) for each in storages))
        scaled = self._scaled(one, read, held)
        for key in scaled if one.site is not None else ():
            self.lines.setdefault(key, one.site or Site("", 0))
        learns = one.operation.grad and any(each.requires_grad for each in one.reads)
        for key in steered | scaled if learns else ():
            self.used.setdefault(key, set()).add(self.step)
        if one.operation.writes or not made <= storages:
            self._pass_on(one, read, made, held, steered | scaled)

    def _pass_on(
        self, one: FlowOperation, read: list[FlowTensor], made: set[int], held: list[_Keys], steered: _Keys
    ) -> None:
        storages = {each.storage for each in read}
        from_others = (self.exchanged & storages) - self.weights
        drawn = base_name(one.operation.name) in _DRAWS | _FILLS  # made of no number of what it reads
        alone = any(held) and all(ours or count(each) == 1 for ours, each in zip(held, read, strict=True))
        for each in made:
            if from_others:
                self.exchanged.add(each)
                self.sent |= self.kept.get(each, set())
            else:
                self.exchanged.discard(each)
            self.held[each] = _NONE.union(*held) if alone and not drawn else _NONE
            self.steered[each] = _NONE if drawn else steered

    def _exchange(self, storages: set[int]) -> None:
        """What is sent at the start, as all weights are, says nothing of later."""
        if self.step:
            for each in storages:
                self.sent |= self._held(each)
            self.exchanged |= storages

    def _held(self, storage: int) -> _Keys:
        return frozenset(self.kept.get(storage, ())) or self.held.get(storage, _NONE)

    def _scaled(self, one: FlowOperation, read: list[FlowTensor], held: list[_Keys]) -> _Keys:
        """The states by which an operator scales samples, or a loss, or in which it looks them up."""
        name = base_name(one.operation.name)
        ours = _NONE.union(*held)
        graph = {each.tensor for each in one.reads if each.requires_grad}
        others = [each for each, keys in zip(read, held, strict=True) if not keys and each.storage not in self.weights]
        if not ours or not others:
            return _NONE
        if name.startswith(_LOSSES):
            return ours
        if name in _TABLES:
            is_table = bool(held[0]) if name in ("embedding", "index", "index_select", "gather") else True
            return ours if is_table and not any(_stands_for(each, read, held) for each in others) else _NONE
        if name not in _SCALES:
            return _NONE
        ours = _NONE.union(*(keys for each, keys in zip(read, held, strict=True) if keys and _is_for_all(each, others)))
        samples = (each for each in others if each.number not in graph or count(each) == 1)
        return ours if any(samples) else _NONE


def _stands_for(other: FlowTensor, read: list[FlowTensor], held: list[_Keys]) -> bool:
    """Whether something has as many rows as a state: it may be a state of each sample."""
    return any(keys and each.type.shape[:1] == other.type.shape[:1] for each, keys in zip(read, held, strict=True))


def _is_for_all(state: FlowTensor, samples: list[FlowTensor]) -> bool:
    """Whether what a state gives has no row for each sample."""
    shapes = [each.type.shape for each in samples]
    shape = state.type.shape
    return count(state) == 1 or all(len(shape) < len(each) or shape[0] == 1 != each[0] for each in shapes)
