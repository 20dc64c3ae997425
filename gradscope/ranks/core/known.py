"""What is known of all ranks of a run, as far as it is compared."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from gradscope.model.averaging import Averaging, GroupKey
from gradscope.model.finding import Finding
from gradscope.model.rank import Collective, Pace, ProcessGroup, Rank, Weights
from gradscope.model.site import Site
from gradscope.ranks.core.keys import renamed

NOISE = 1e-6  # relative: sums on several devices differ in their last bits

Told = tuple[str, Site]  # what something goes back to: in words, and the line
Explained = Callable[[str], tuple[Finding, ...]]


@dataclass(slots=True)
class Looks:
    """What was measured at looks: by backward and content, the ranks with it, and one rank's content of each.

    `met`: by rank and backward, how often the rank had met others by then, by group.
    """

    ranks: dict[int, dict[int, list[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    first: dict[tuple[int, int], Weights] = field(default_factory=dict)

    met: dict[tuple[int, int], dict[GroupKey, int]] = field(default_factory=dict)

    def add(self, rank: int, weights: Weights, met: dict[GroupKey, int]) -> None:
        """What a rank has at a look."""
        self.met[rank, weights.backward] = met
        content = hash(weights.norms)
        self.ranks[weights.backward][content].append(rank)
        self.first.setdefault((weights.backward, content), weights)


@dataclass(slots=True)
class Ranks:
    """All ranks, by number, and what of them can be compared. Numbers in sequences stand for `collectives`.

    `starts`: by rank and group, the place in the group of the first collective that is known, None when some are not.
    `buffers`: those that DistributedDataParallel was told not to broadcast, all where there is none; `copies`:
    parameters of models that are built as one that trains, and have no gradient. `losses`: by content, the ranks with
    it.
    `orders`: by the names in each wrapper as they are stored, the ranks with them.
    `derived`: parameters that torch.autograd.grad() alone gives derivatives of.
    `each`: `weights`, and leaves that nothing names, each by itself, where ranks have several.
    `swapped`: by rank, names of models that it numbered otherwise than the first rank did; `weights` have the first's.
    `of_group`: those of `collectives` that a group meets in, once they were asked for. `explained`: what is found in
    the recording of one rank, by path, about values that are not finite, `failed`: of what ended it; nothing where
    nobody asks.
    """

    ranks: list[Rank] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    sequences: dict[int, array[int]] = field(default_factory=dict)
    starts: dict[int, dict[ProcessGroup, int | None]] = field(default_factory=dict)
    weights: Looks = field(default_factory=Looks)
    each: Looks = field(default_factory=Looks)
    buffers: Looks = field(default_factory=Looks)
    copies: Looks = field(default_factory=Looks)
    derived: Looks = field(default_factory=Looks)
    paces: dict[int, Pace] = field(default_factory=dict)
    averaging: dict[int, Averaging] = field(default_factory=dict)
    losses: dict[tuple[tuple[int, str], ...], list[int]] = field(default_factory=lambda: defaultdict(list))
    orders: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    of_group: dict[tuple[str, tuple[int, ...]], set[int]] = field(default_factory=dict)
    explained: Explained = lambda path: ()
    failed: Explained = lambda path: ()
    folder: str = ""
    torch: str = ""
    swapped: dict[int, dict[str, str]] = field(default_factory=dict)

    def rank(self, number: int) -> Rank:
        """One of them."""
        return next(one for one in self.ranks if one.rank == number)

    @property
    def leaves(self) -> Looks:
        """The weights, with each leaf by itself that nothing names."""
        return self.each if self.each.ranks else self.weights

    def own(self, number: int, leaf: str) -> str:
        """What a rank itself calls a parameter of `weights`; and what `weights` call one of its own."""
        return renamed(leaf, self.swapped.get(number, {}))
