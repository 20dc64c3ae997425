"""GS798: a rank that is given more than the others, so that they wait for it at every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median

from gradscope.model.rank import Pace
from gradscope.model.site import Site
from gradscope.ranks.core.copies import average_most, replicas_of
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.given import origin_of
from gradscope.ranks.source.syntax import at_line, nodes_of, tree_of
from gradscope.store.averaging_reader import read_first_forward
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.rank_reader import read_given_bytes
from gradscope.store.reader import Recording, load

LEAST = 16  # steps, without the first, that warms up
_MOSTLY = 0.8  # of the steps
_LOST = 0.2  # of the time of these steps
_FELT = 1e-3  # seconds of a step: a scheduler gives and takes as much by chance
_MORE = 1.5  # times as much data


def straggling(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A replica whose batches are larger than those of the others in most steps, and for which they wait.
    Why:
        Replicas meet in every backward, so that each step lasts as long as that of the slowest one. When the same rank
        gets the long samples each time, the others idle, and more ranks make nothing faster.
    Wrong:
        batches = batches[rank * share : (rank + 1) * share]  # sorted by length
    Right:
        batches = batches[rank::world]
    Do instead:
        Deal batches of one length to all ranks of a step: every world-th one of the sorted batches, not a part of them.
    How it is found:
        The time on the way to each of the first backward calls and the bytes of what the graph was given, of ranks
        whose gradients are averaged: one rank has the longest way and the most bytes in four of five steps, one and a
        half times as many bytes in all, and the time that it takes longer than the others is a fifth of all or more,
        and a millisecond in four of five steps. And what the ranks are given is dealt of one lot: the source takes a
        stretch of it by the rank, or each rank is given more and more from step to step, or less and less, as of what
        is sorted; ranks that each read a source of their own deal nothing. The line is that where the rank chooses its
        part, in what makes the sampler or the data set, else where that is made.
    """
    for replicas in replicas_of(ranks):
        if not average_most(ranks, replicas):
            continue
        slow, lost = slowest({number: ranks.paces[number] for number in replicas.members})
        if slow is None:
            continue
        other = next(number for number in replicas.members if number != slow)
        with load(Path(ranks.rank(slow).path)) as here, load(Path(ranks.rank(other).path)) as there:
            times = times_as_much(here, there)
            site, by_the_rank = _dealt(here)
            if times is not None and (by_the_rank or all(map(_is_sorted, (here, there)))):
                yield Blame(
                    f"rank {slow} is given {times:.1f} times as many bytes as rank {other}, and takes longer in most "
                    f"steps: the others wait for it {lost:.0%} of the time",
                    site,
                    certain=False,
                )
                return


def slowest(paces: Mapping[int, Pace]) -> tuple[int | None, float]:
    """The rank whose way to a backward is the longest in most steps, and the share of the time that it takes longer.
    None where the difference is so small that nobody would feel it."""
    ways = {number: pace.ways for number, pace in paces.items()}
    steps = {len(way) for way in ways.values()}
    if len(steps) != 1 or min(steps) < LEAST:
        return None, 0.0
    slow = max(ways, key=lambda number: sum(ways[number]))
    others = [median(at) for at in zip(*(ways[one] for one in ways if one != slow), strict=True)]
    longer = [way - usual for way, usual in zip(ways[slow], others, strict=True)]
    share = sum(longer) / max(paces[slow].seconds, 1e-9)
    mostly = sum(one > _FELT for one in longer) >= _MOSTLY * len(longer)
    return (slow, share) if mostly and share >= _LOST else (None, 0.0)


def times_as_much(here: Recording, there: Recording) -> float | None:
    """How much more a rank's graphs are given than another's, where they are given more in most steps."""
    ours, theirs = (given_bytes(one) for one in (here, there))
    both = sorted(ours.keys() & theirs.keys())
    more = sum(ours[one] > theirs[one] for one in both)
    times = sum(ours[one] for one in both) / max(sum(theirs[one] for one in both), 1)
    return times if both and more >= _MOSTLY * len(both) and times >= _MORE else None


def given_bytes(recording: Recording) -> dict[int, int]:
    """By backward call: the bytes that its graph was given."""
    with damage_is_one_sentence(recording.path):
        return read_given_bytes(recording.tables.rows)


def _is_sorted(recording: Recording) -> bool:
    """Whether a rank is given more and more from step to step, or less and less, as where what is dealt is sorted."""
    given = [size for _, size in sorted(given_bytes(recording).items())]
    grows = [after - before for before, after in pairwise(given)]
    steps = [one for one in grows if one]
    return bool(steps) and max(sum(one > 0 for one in steps), sum(one < 0 for one in steps)) >= _MOSTLY * len(grows)


def _dealt(recording: Recording) -> tuple[Site | None, bool]:
    """Where a rank chooses its part of the data, and whether it takes a stretch of it by its number there."""
    with damage_is_one_sentence(recording.path):
        stack = read_first_forward(recording.tables.rows, recording.tables.interned)
        site = origin_of(recording, stack, seeds=False)
    if site is None:
        return None, False
    tree = tree_of(recording, site)
    called = {
        node.func.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.lineno == site.line
    }
    makers: list[ast.AST] = [
        one for one in nodes_of(tree) if isinstance(one, (ast.ClassDef, ast.FunctionDef)) and one.name in called
    ]
    makers += [one for one in nodes_of(tree) if getattr(one, "lineno", 0) == site.line]
    lines = [line for maker in makers for line in _choices(maker)]
    return at_line(recording, site, lines[0] if lines else site.line), bool(lines)


def _choices(maker: ast.AST) -> Iterator[int]:
    """The lines that take a stretch of something by the rank."""
    for node in ast.walk(maker):
        stretch = node.slice if isinstance(node, ast.Subscript) else None
        if (
            isinstance(node, ast.expr)
            and isinstance(stretch, ast.Slice)
            and any(map(_names_the_rank, ast.walk(stretch)))
        ):
            yield node.lineno


def _names_the_rank(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return "rank" in name.lower()
