"""The state of the running thread, by which probes know what the program is doing in it."""

from __future__ import annotations

import itertools
import threading

from gradscope.probes.core.graph_tasks import GraphTasks
from gradscope.probes.core.thread_state import Thread
from gradscope.torch_internals.running import NO_TASK, current_task


class Threads(threading.local):
    """`threads.current` is the running thread's state, numbered from 0 in the order of first sight.

    The surprise: torch's pool threads are a new thread to Python each time that they call into it. What comes to sight
    inside of a task of the engine is one of its own threads, and known by the system's number for it.
    """

    def __init__(self, numbers: itertools.count[int], tasks: GraphTasks) -> None:
        self.tasks = tasks
        if tasks.counting and current_task() != NO_TASK:
            self.current = tasks.threads.get(threading.get_ident()) or Thread(next(numbers), is_engines=True)
            tasks.threads[threading.get_ident()] = self.current
        else:
            self.current = Thread(next(numbers))
            tasks.counting = True

    @classmethod
    def counting(cls) -> Threads:
        """States for the threads of one recording; the thread that asks is number 0."""
        return cls(itertools.count(), GraphTasks())
