"""One ready queue of the engine, as a list that `push` and `pop` keep in heap order (as heapq does for its lists).

The surprise: torch compares depth and sequence number only, so equal tasks come out in an order that the moves of
std::priority_queue decide. Those moves are copied here as libstdc++ makes them; other C++ libraries may differ.
"""

from __future__ import annotations

from dataclasses import dataclass

LAST_SEQ_NR = 2**64 - 1  # torch's number for AccumulateGrad: no node made by an operator ever gets it


@dataclass(slots=True, unsafe_hash=True)  # not frozen: frozen ones take four times as long to make
class Task:
    """A node whose gradients are complete, waiting to be run; `depth` is that of its re-entrant backward."""

    node: int
    seq_nr: int
    depth: int = 0


def same_priority(one: Task, other: Task) -> bool:
    """Whether torch's comparison cannot tell the two apart (CompareNodeTaskTime in engine.h, torch 2.13)."""
    return one.seq_nr == other.seq_nr and one.depth == other.depth


def push(queue: list[Task], task: Task) -> None:
    """Add a task, as std::push_heap does: up from the end, past every parent that runs later."""
    queue.append(task)
    _rise(queue, len(queue) - 1, task)


def pop(queue: list[Task]) -> Task:
    """Take out the task that torch runs next, as std::pop_heap does."""
    first, moved = queue[0], queue.pop()
    if queue:
        # libstdc++ lets the hole sink to the bottom first and only then lifts the former last task from there.
        _rise(queue, _sink(queue), moved)
    return first


def waiting(queue: list[Task]) -> tuple[Task, ...]:
    """The tasks of a queue in the order they would run if no other task came in."""
    rest = list(queue)
    return tuple(pop(rest) for _ in range(len(rest)))


def _runs_later(one: Task, other: Task) -> bool:
    if one.depth != other.depth:
        return one.depth < other.depth
    return one.seq_nr < other.seq_nr


def _rise(queue: list[Task], hole: int, task: Task) -> None:
    while hole > 0 and _runs_later(queue[(hole - 1) // 2], task):
        queue[hole] = queue[(hole - 1) // 2]
        hole = (hole - 1) // 2
    queue[hole] = task


def _sink(queue: list[Task]) -> int:
    """Move the hole at the top down to the bottom, the better child up each time (the right one of equals)."""
    hole, size = 0, len(queue)
    while 2 * hole + 2 < size:
        child = 2 * hole + 2
        if _runs_later(queue[child], queue[child - 1]):
            child -= 1
        queue[hole] = queue[child]
        hole = child
    if 2 * hole + 2 == size:  # a left child alone at the end
        queue[hole] = queue[size - 1]
        hole = size - 1
    return hole
