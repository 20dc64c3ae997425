"""Which backward call the engine's own threads work for.

The surprise: torch runs a node on the thread of its device, and a backward that is nested more than 60 deep on a thread
of a pool. It takes the caller's dispatch modes there, so operators are seen, but no frame of the call is on that
thread's stack. What tells the calls apart there is the number of the engine's task.
"""

from __future__ import annotations

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.thread_state import Thread
from gradscope.torch_internals.running import NO_TASK, current_node, current_task


class GraphTasks:
    """The running backward calls by the number of the engine's task, as far as it is known."""

    def __init__(self) -> None:
        self.threads: dict[int, Thread] = {}  # the engine's own: a few, which live as long as the process
        self.counting = False  # whether the thread that began the recording has been counted: it may be in a hook
        self._known: dict[int, BackwardCall] = {}
        self._unknown: dict[int, BackwardCall] = {}  # by their own number: a task gets its own after we saw the call

    def begin(self, call: BackwardCall) -> None:
        """A call begins: inside of the task of the one around it."""
        task = current_task()
        if call.outer is not None and task != NO_TASK and task not in self._known:
            self._learn(task, call.outer)
        self._unknown[call.number] = call

    def end(self, call: BackwardCall) -> None:
        """A call is over: no thread works for it any more."""
        self._unknown.pop(call.number, None)
        self._known.pop(call.task, None)
        for thread in list(self.threads.values()):
            if thread.backward is call:
                thread.backward, thread.task = None, NO_TASK

    def running(self, thread: Thread) -> BackwardCall | None:
        """The backward that the running thread works for."""
        if thread.is_engines:
            self.adopt(thread)
        return thread.backward

    def adopt(self, thread: Thread) -> None:
        """Have one of the engine's own threads, which is the running one, take over the call that it works for.

        Such a thread can go from one call's node to another's, also while a hook in the first waits for a backward.
        """
        task = current_task()
        if task == thread.task:
            return
        call = None if task == NO_TASK else self._known.get(task) or self._find(task)
        thread.backward = call
        thread.task = NO_TASK if call is None else task
        if thread.call is None:  # else a hook has called a module: its frames are anchors, too
            thread.base = 0 if call is None else call.base

    def _find(self, task: int) -> BackwardCall | None:
        """The call of a task that was not seen before: the only one left whose graph has the node that runs.

        None when two threads have begun backwards over the same nodes, and none of their tasks is known yet.
        """
        node = current_node()  # none while the engine adds up gradients
        token = None if node is None else token_of(node)
        possible = [
            call
            for call in list(self._unknown.values())
            if token is None or call.walked is None or token.uid in call.walked.numbers
        ]
        return self._learn(task, possible[0]) if len(possible) == 1 else None

    def _learn(self, task: int, call: BackwardCall) -> BackwardCall:
        if self._unknown.pop(call.number, None) is not None:
            call.task = task
            self._known[task] = call
        return call
