"""GS780: statistics of all ranks that each rank weighs by a number of samples of its own."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.own_weights import OwnWeights, Weighed
from gradscope.store.reader import Recording, load

_MANY = 1  # numbers of a tensor: a mean loss that is logged is one

Shapes = dict[tuple[str, int], list[tuple[int, ...]]]


def weighed_apart(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Statistics that a collective gives all ranks alike, as the mean of a batch of all of them, and that each rank
        adds to a running one by the number of samples of its own.
    Why:
        A running mean that all ranks compute from the same means stays the same on all of them only where each mean has
        the same weight everywhere. Where ranks have batches of other sizes, each comes to statistics of its own, which
        are those of no data: what a model normalises with then depends on the rank that saves it.
    Wrong:
        dist.all_reduce(total)
        running.update(total / count, n=len(x))
    Right:
        n = torch.tensor(len(x))
        dist.all_reduce(n)
        running.update(total / count, n=n.item())
    Do instead:
        Weigh what is of all ranks by the number of samples of all of them: sum it, too.
    How it is found:
        In the source: what a collective gives, with nothing of a rank's own in it, times the size of something of the
        rank's own, which nobody sums, in what a line adds to what is kept, that nobody sums either; in one function, or
        in one that is given both. In the recordings of two ranks: that line ran on more than one number at once, and
        tensors of other sizes came into the lines of the function that counts.
    """
    if len(ranks.ranks) < 2 or not ranks.collectives:
        return
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:2])
        for one in OwnWeights(here).found():
            if _weighs_many(here, one) and _have_other_sizes(here, there, one):
                yield Blame(
                    "what all ranks have alike from a collective is weighed by each rank's own number of samples, "
                    "which is not the same on all of them: what is kept of it drifts apart",
                    one.blamed,
                    () if one.weighs == one.blamed else (Related("cause_at", one.weighs, "where it is weighed"),),
                    certain=False,
                )
                return


def _weighs_many(recording: Recording, one: Weighed) -> bool:
    """Whether the line that weighs made tensors of more than one number, for the line that is blamed."""
    sizes = {each.number: math.prod(each.type.shape) for each in recording.flow_tensors()}
    return any(
        each.site is not None
        and each.site.file == one.weighs.file
        and each.site.line in one.lines
        and any((site.file, site.line) == (one.blamed.file, one.blamed.line) for site in each.operation.stack)
        and any(sizes.get(made, 0) > _MANY for made in each.makes)
        for each in recording.flow()
    )


def _have_other_sizes(here: Recording, there: Recording, one: Weighed) -> bool:
    """Whether operators of the same lines of a function were given tensors of other shapes."""
    ours, theirs = (_shapes(recording, one.blamed.file, one.counts) for recording in (here, there))
    pairs = (pair for key in ours for pair in zip(ours[key], theirs.get(key, []), strict=False))
    return any(first != second for first, second in pairs)


def _shapes(recording: Recording, file: str, lines: range) -> Shapes:
    """By operator and line in a function: the shapes that it was given, each time."""
    shapes = {each.number: tuple(each.type.shape) for each in recording.flow_tensors()}
    found: Shapes = defaultdict(list)
    for one in recording.flow():
        line = next((site.line for site in one.operation.stack if site.file == file and site.line in lines), None)
        if line is not None:
            found[one.operation.name, line] += [shapes[each.tensor] for each in one.reads if each.tensor in shapes]
    return found
