"""The ready queue: priorities first, the heap's own moves among equals."""

from __future__ import annotations

import random

from gradscope.engine.heap import LAST_SEQ_NR, Task, pop, push, same_priority, waiting


def drain(tasks: list[Task]) -> list[Task]:
    queue: list[Task] = []
    for task in tasks:
        push(queue, task)
    return [pop(queue) for _ in tasks]


def test_the_latest_node_goes_first() -> None:
    assert [task.node for task in drain([Task(0, 5), Task(1, LAST_SEQ_NR), Task(2, 7)])] == [1, 2, 0]


def test_a_deeper_backward_goes_before_every_sequence_number() -> None:
    assert [task.node for task in drain([Task(0, LAST_SEQ_NR), Task(1, 3, depth=1)])] == [1, 0]


def test_equal_tasks_come_out_as_libstdcxx_moves_them() -> None:
    # Made with std::priority_queue<pair<int, int>> comparing the first member only (libstdc++ of GCC 12).
    assert [task.node for task in drain([Task(node, 1) for node in range(8)])] == [0, 2, 6, 5, 7, 4, 1, 3]
    three_keys = drain([Task(node, node % 3) for node in range(12)])
    assert tuple(task.node for task in three_keys) == (2, 5, 11, 8, 1, 7, 10, 4, 6, 0, 9, 3)


def test_distinct_priorities_are_sorted() -> None:
    tasks = [Task(number, number) for number in range(500)]
    random.Random(0).shuffle(tasks)
    assert [task.node for task in drain(tasks)] == list(range(499, -1, -1))


def test_waiting_tells_the_coming_order_and_keeps_the_queue() -> None:
    queue: list[Task] = []
    for number in (1, 3, 2):
        push(queue, Task(number, number))
    assert [task.node for task in waiting(queue)] == [3, 2, 1]
    assert len(queue) == 3


def test_same_priority_needs_depth_and_sequence_number() -> None:
    assert same_priority(Task(0, 1), Task(5, 1))
    assert not same_priority(Task(0, 1), Task(0, 2))
    assert not same_priority(Task(0, 1), Task(0, 1, depth=1))
