"""Means and variances of a rank's own samples, and their way through a sum over ranks to where they normalise."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import prod

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective

_VARIANCES = frozenset(("var", "std"))
_BOTH = frozenset(("var_mean", "std_mean"))  # which give the mean second
_ROOTS = frozenset(("std", "std_mean"))
_MEANS = frozenset(("mean", "sum"))
_ADDS_UP = ("allreduce_", "all_reduce", "all_reduce_", "allgather_", "_allgather_base_", "all_gather_into_tensor")
_SUMS = ("allreduce", "all_reduce")
_SCALES = frozenset(("div", "mul", "div_", "mul_"))
_AS_IT_IS = frozenset(
    (
        *("clone", "detach", "contiguous", "_to_copy", "alias", "add", "add_", "clamp", "clamp_min", "clamp_", "copy_"),
        *("clamp_min_", "stack", "cat", "expand", "wait_tensor", "_unsafe_view"),
    )
)
_COPIES = frozenset(("clone", "_to_copy", "contiguous", "_unsafe_view", "alias", "detach"))
_TAKES_ROOTS = frozenset(("sqrt", "rsqrt", "sqrt_", "rsqrt_", "pow", "reciprocal"))
_TAKES_OFF = frozenset(("sub", "sub_"))
_JOINS = frozenset(("stack", "cat"))
_WAITS = "wait_tensor"
_OTHERWISE = re.compile(r"\b(?:MAX|MIN|PRODUCT|PREMUL_SUM)\b")  # as a reduction is called
_NORMALISES = "batch_norm"  # in the names of operators that are given a mean and a variance

_Content = tuple[int, int]  # a storage, and how often it had been written


class What(Enum):
    """What is known of a tensor: a mean of samples, samples without it, the squares of these, their variance."""

    MEAN = auto()
    CENTRED = auto()
    SQUARES = auto()
    VARIANCE = auto()


@dataclass(frozen=True, slots=True)
class Known:
    """What a tensor is, of which samples, by which line; whether other ranks had a part in it, or in the mean that was
    taken off it; whether it is a root, was one when it was sent, is one number, and whether gradients go to samples.
    `averaged`: what the ranks had is added up, not only brought together."""

    what: What
    of: _Content
    site: Site
    sent: bool = False
    root: bool = False
    deviates: bool = False
    of_all: bool = False
    learns: bool = False
    averaged: bool = False


@dataclass(frozen=True, slots=True)
class Averaged:
    """The variance of a rank's own samples, about their own mean, by the mean of which over ranks samples are divided,
    without the mean over ranks; and the line that divides. `kept`: it goes into a running estimate before."""

    variance: Known
    divides: Site
    kept: bool = False

    @property
    def may_be_an_estimate(self) -> bool:
        """Whether it is a running one, one number, a standard deviation, or of data that nothing learns by."""
        return self.kept or self.variance.of_all or self.variance.deviates or not self.variance.learns


@dataclass(slots=True)
class Statistics:
    """What is known of tensors, by storage."""

    tensors: dict[int, FlowTensor]
    known: dict[int, Known] = field(default_factory=dict)
    contents: dict[int, _Content] = field(default_factory=dict)
    sizes: dict[int, int] = field(init=False)  # of the largest tensor over a storage, in numbers

    def __post_init__(self) -> None:
        self.sizes = {}
        for one in self.tensors.values():
            self.sizes[one.storage] = max(self.sizes.get(one.storage, 0), prod(one.type.shape))

    def content(self, storage: int) -> _Content:
        """What is in a storage now."""
        return self.contents.setdefault(storage, (storage, 0))

    def run(self, one: FlowOperation) -> Averaged | None:
        """Go on after an operator. Returns what it divides by, where that is a mean of variances."""
        read = [self.tensors[each.tensor].storage for each in one.reads if each.tensor in self.tensors]
        made = [self.tensors[each].storage for each in one.makes if each in self.tensors]
        if not one.operation.writes and not is_collective(one.operation.name) and set(made) <= set(read):
            return None  # a view
        given = list(dict.fromkeys(read))
        after = self._after(one, given)
        found = self._divides(one, given)
        is_copy = base_name(one.operation.name) in _COPIES and len(given) == 1
        same = self.content(given[0]) if is_copy else None
        for at, storage in enumerate(made):
            self.contents[storage] = same or (storage, self.content(storage)[1] + 1)
            self.known.pop(storage, None)
            if at < len(after) or len(after) == 1:
                self.known[storage] = after[min(at, len(after) - 1)]
        return found

    def _after(self, one: FlowOperation, read: list[int]) -> list[Known]:
        """What an operator gives: one for all that it makes, or one for each."""
        name = base_name(one.operation.name)
        if one.site is None or not read:
            return []
        if is_collective(one.operation.name) and name != _WAITS:
            return self._exchanged(name, read, one.site)
        if name in _VARIANCES | _BOTH:
            return self._measured(one, read[0], one.site)
        return (
            self._of_one(one, name, read[0], one.site) if len(read) == 1 else self._of_many(one, name, read, one.site)
        )

    def _exchanged(self, name: str, read: list[int], site: Site) -> list[Known]:
        """What a collective gives that adds up, or gathers, one kind of what is known."""
        had = {replace(self.known[each], sent=True) for each in read if each in self.known}
        if len(had) != 1 or name not in _ADDS_UP or _OTHERWISE.search(site.source or ""):
            return []
        sums = name.startswith(_SUMS)
        return [replace(each, deviates=each.deviates or each.root, averaged=sums) for each in had]

    def _of_many(self, one: FlowOperation, name: str, read: list[int], site: Site) -> list[Known]:
        """What comes of several tensors: samples without their mean, what is divided by a number, or put together."""
        had = [self.known[each] for each in read if each in self.known]
        others = [each for each in read if each not in self.known]
        if name in _TAKES_OFF and self._is_mean_of(read[1], read[0]):
            return [replace(self.known[read[1]], what=What.CENTRED, site=site)]
        if len(had) == 1 and name in _SCALES and not any(self._shapes(one, others)):
            return had
        alike = len({replace(each, sent=True) for each in had}) == 1 and not others
        return [replace(had[0], sent=True)] if alike and name in _JOINS and any(each.sent for each in had) else []

    def _measured(self, one: FlowOperation, samples: int, site: Site) -> list[Known]:
        """A variance, or both."""
        name = base_name(one.operation.name)
        first = self.tensors[one.makes[0]].type.shape if one.makes and one.makes[0] in self.tensors else ()
        variance = Known(
            What.VARIANCE,
            self.content(samples),
            site,
            root=name in _ROOTS,
            deviates=name in _ROOTS,
            of_all=not first,
            learns=any(each.requires_grad for each in one.reads),
        )
        mean = replace(variance, what=What.MEAN, root=False, deviates=False)
        return [variance, mean] if name in _BOTH else [variance]

    def _of_one(self, one: FlowOperation, name: str, read: int, site: Site) -> list[Known]:
        """What comes of one tensor, and numbers."""
        had = self.known.get(read)
        if name in _MEANS and (had is None or had.what is What.CENTRED):
            measured = self._measured(one, read, site)
            return [replace(each, what=What.MEAN) for each in measured]
        if had is None:
            return []
        if name in _MEANS:
            variance = had.what is What.SQUARES
            summed = [replace(had, averaged=True)] if had.sent else []
            return [replace(had, what=What.VARIANCE, site=site)] if variance else summed
        if had.what is What.CENTRED:
            squares = name in ("pow", "square", "mul") and not had.sent
            return [replace(had, what=What.SQUARES)] if squares else []
        if name in _TAKES_ROOTS:
            return [replace(had, root=True)] if had.what is What.VARIANCE else []
        return [had] if name in _AS_IT_IS | _SCALES and had.what is not What.SQUARES else []

    def _is_mean_of(self, mean: int, samples: int) -> bool:
        had = self.known.get(mean)
        return had is not None and had.what is What.MEAN and had.of == self.content(samples)

    def _shapes(self, one: FlowOperation, storages: list[int]) -> list[tuple[int, ...]]:
        tensors = (self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors)
        return [tuple(each.type.shape) for each in tensors if each.storage in storages]

    def _divides(self, one: FlowOperation, read: list[int]) -> Averaged | None:
        """Whether an operator divides samples without their mean over ranks by the root of their mean variance."""
        had = [self.known[each] for each in read if each in self.known]
        sent = {each.what: each for each in had if each.sent}
        variance = sent.get(What.VARIANCE)
        if variance is None or one.site is None:
            return None
        name = base_name(one.operation.name)
        centred = sent.get(What.CENTRED)
        if centred is not None and name in _SCALES and len(read) == 2:
            return Averaged(variance, one.site) if variance.root and centred.of == variance.of else None
        mean = sent.get(What.MEAN)
        normalises = mean is not None and _NORMALISES in name and mean.of == variance.of == self.content(read[0])
        return Averaged(variance, one.site) if normalises and not variance.root else None
