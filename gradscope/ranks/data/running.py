"""Running estimates of a mean and a variance that averages over ranks go into, and by which samples are normalised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.data.statistics import Averaged, Known, Statistics, What
from gradscope.store.reader import Recording

_FILLS = frozenset(("zeros", "ones", "full", "scalar_tensor", "zeros_like", "ones_like", "full_like"))
_NUMBER = "lift_fresh"  # as torch.tensor() ends
_COMPUTES = frozenset(
    (
        *("add", "sub", "mul", "div", "rsub", "neg", "pow", "square", "reciprocal", "lerp", "addcmul", "addcdiv"),
        *("add_", "sub_", "mul_", "div_", "neg_", "pow_", "square_", "lerp_", "addcmul_", "addcdiv_", "copy_", "fill_"),
        *("clamp", "clamp_min", "clamp_max", "clamp_", "clamp_min_", "maximum", "minimum", "sqrt", "rsqrt", "sqrt_"),
        *("rsqrt_", "clone", "_to_copy", "contiguous", "alias", "detach", "expand", "_unsafe_view", "zero_"),
    )
)
_TAKES_ROOTS = frozenset(("sqrt", "rsqrt", "sqrt_", "rsqrt_", "pow", "pow_"))
_SUMS = frozenset(("allreduce_", "all_reduce", "broadcast_"))  # of numbers, which all ranks have then
_COPIES_IN = "copy_"

_When = tuple[int, Known]  # the place of the operator that averaged it, and what it is


@dataclass(frozen=True, slots=True)
class _Mixed:
    """A tensor that was computed of numbers and of averages over ranks alone: the last mean and variance in it, and
    whether a root was taken. `lines` take these averages' parts: with one for means and one for variances, what the
    ranks' own means are apart by cannot be in it."""

    mean: _When | None = None
    variance: _When | None = None
    root: bool = False
    lines: frozenset[tuple[What, Site]] = frozenset()


@dataclass(slots=True)
class Running:
    """What is known of tensors that averages over ranks went into, by storage, beside what `statistics` knows."""

    statistics: Statistics
    mixed: dict[int, _Mixed] = field(default_factory=dict)
    centred: dict[int, Known] = field(default_factory=dict)  # samples without such a mean
    place: int = 0

    def run(self, one: FlowOperation) -> Averaged | None:
        """Go on after an operator that `statistics` has gone on after."""
        self.place += 1
        read = [storage for each in one.reads for storage in self._storage(each.tensor)]
        made = [storage for each in one.makes for storage in self._storage(each)]
        name = base_name(one.operation.name)
        if name == _NUMBER and self._count(one.makes) == 1:
            self.mixed.update((storage, _Mixed()) for storage in made)
        if not one.operation.writes and not name.endswith("_") and set(made) <= set(read):
            return None  # a view
        found = self._divides(name, read, one.site)
        centred = self._without_mean(name, read, one)
        after = self._computed(name, read, one)
        for storage in made or (read if one.operation.writes else ()):
            self.mixed.pop(storage, None)
            self.centred.pop(storage, None)
            mixed = self._averaged(storage) or after
            if mixed is not None:
                self.mixed[storage] = mixed
            elif centred is not None:
                self.centred[storage] = centred
        return found

    def _storage(self, tensor: int) -> Iterator[int]:
        known = self.statistics.tensors.get(tensor)
        if known is not None:
            yield known.storage

    def _count(self, tensors: Iterable[int]) -> int:
        """How many numbers these tensors hold."""
        known = (self.statistics.tensors.get(each) for each in tensors)
        return sum(prod(each.type.shape) for each in known if each is not None)

    def _averaged(self, storage: int) -> _Mixed | None:
        """An average over ranks of their own means or variances, of several features."""
        known = self.statistics.known.get(storage)
        if known is None or not known.averaged or known.of_all:
            return None
        when, lines = (self.place, known), frozenset(((known.what, known.site),))
        if known.what is What.VARIANCE:
            return _Mixed(variance=when, root=known.root, lines=lines)
        return _Mixed(mean=when, lines=lines) if known.what is What.MEAN else None

    def _computed(self, name: str, read: list[int], one: FlowOperation) -> _Mixed | None:
        """What an operator makes of such tensors alone."""
        if name in _FILLS:
            return _Mixed()
        if name == _COPIES_IN and len(one.reads) == 2 and self._is_all_of(one.reads[0].tensor):
            read = read[1:]
        had = [self.mixed.get(each) for each in read]
        parts = [each for each in had if each is not None]
        if not parts or len(parts) < len(had) or name not in _COMPUTES | _SUMS:
            return None
        return _Mixed(
            _last(each.mean for each in parts),
            _last(each.variance for each in parts),
            name in _TAKES_ROOTS or any(each.root for each in parts),
            frozenset().union(*(each.lines for each in parts)),
        )

    def _is_all_of(self, tensor: int) -> bool:
        """Whether no tensor over its memory is larger, as far as is known."""
        known = self.statistics.tensors[tensor]
        return prod(known.type.shape) >= self.statistics.sizes[known.storage]

    def _without_mean(self, name: str, read: list[int], one: FlowOperation) -> Known | None:
        """The mean that is taken off of samples, which are more than it."""
        if name not in ("sub", "sub_") or len(read) != 2 or read[0] in self.mixed:
            return None
        mixed = self.mixed.get(read[1])
        tensors = [each.tensor for each in one.reads]
        is_more = self._count(tensors[:1]) > self._count(tensors[1:])
        return mixed.mean[1] if mixed is not None and mixed.mean is not None and is_more else None

    def _divides(self, name: str, read: list[int], site: Site | None) -> Averaged | None:
        """Whether samples without such a mean are divided by the root of such a variance of the same samples."""
        if name not in ("div", "mul", "div_", "mul_") or len(read) != 2 or site is None:
            return None
        mean, by = self.centred.get(read[0]), self.mixed.get(read[1])
        if mean is None or by is None or by.variance is None or not by.root:
            return None
        variance, others = by.variance[1], by.lines - {(What.MEAN, mean.site)}
        is_all = others == {(What.VARIANCE, variance.site)}
        return Averaged(variance, site, kept=True) if is_all and variance.of == mean.of else None


def _last(found: Iterable[_When | None]) -> _When | None:
    return max((one for one in found if one is not None), key=lambda one: one[0], default=None)


def averaged_variances(recording: Recording) -> Iterator[Averaged]:
    """Each place where samples are normalised by a mean over ranks and by that of the ranks' own variances."""
    statistics = Statistics({one.number: one for one in recording.flow_tensors()})
    running = Running(statistics)
    for one in recording.flow():
        if one.backward is None:
            found = statistics.run(one)
            kept = running.run(one)
            told = found or kept
            if told is not None:
                yield told
