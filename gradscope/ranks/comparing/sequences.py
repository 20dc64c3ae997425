"""What of two sequences is the same: the longest common subsequence, so that a loop's extra trip is one insertion.

Myers' greedy search: linear where sequences are nearly equal. Where too much differs, it is one stretch, replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MOST_EDITS = 600  # the search takes the square of these

Stretch = tuple[int, int, int, int]
"""Start and end in the first sequence of what the second lacks, and start and end in the second of what is new."""


def stretches(first: Sequence[int], second: Sequence[int]) -> list[Stretch]:
    """Where two sequences differ, in order; none where they are equal."""
    if first == second:
        return []
    start = common_start(first, second)
    end = _common_end(first, second, start)
    one, other = first[start : len(first) - end], second[start : len(second) - end]
    path = _search(one, other) if one and other else None
    if path is None:
        return [(start, len(first) - end, start, len(second) - end)]
    return [(a + start, b + start, c + start, d + start) for a, b, c, d in _joined(path, len(one), len(other))]


def common_start(first: Sequence[int], second: Sequence[int]) -> int:
    """How many items at the start are the same."""
    least = min(len(first), len(second))
    low, high = 0, least
    while low < high:  # slices compare quickly
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(first: Sequence[int], second: Sequence[int], start: int) -> int:
    most = min(len(first), len(second)) - start
    length = 0
    while length < most and first[-1 - length] == second[-1 - length]:
        length += 1
    return length


def _search(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int, int]] | None:
    """The runs of equal items (start, start, length), in order; None when more than MOST_EDITS lie between."""
    reached = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(MOST_EDITS, len(first) + len(second)) + 1):
        trail.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
            )
            at = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            there = at - diagonal
            while at < len(first) and there < len(second) and first[at] == second[there]:
                at, there = at + 1, there + 1
            reached[diagonal] = at
            if at >= len(first) and there >= len(second):
                return _walk_back(trail, len(first), len(second))
    return None


def _walk_back(trail: list[dict[int, int]], at: int, there: int) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for edits in range(len(trail) - 1, 0, -1):
        reached, diagonal = trail[edits], at - there
        down = diagonal == -edits or (
            diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
        )
        before = diagonal + 1 if down else diagonal - 1
        start = reached[before]
        begun = start if down else start + 1
        if at > begun:
            runs.append((begun, begun - diagonal, at - begun))
        at, there = start, start - before
    if at:
        runs.append((0, 0, at))
    return runs[::-1]


def _joined(runs: list[tuple[int, int, int]], length: int, other_length: int) -> Iterator[Stretch]:
    """What lies between runs of equal items."""
    at = there = 0
    for start, other_start, count in [*runs, (length, other_length, 0)]:
        if start > at or other_start > there:
            yield at, start, there, other_start
        at, there = start + count, other_start + count
