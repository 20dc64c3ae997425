"""What each thread of the program is doing: its stack base, its module call, its backward, its last operator."""

from __future__ import annotations

import itertools
import threading
from array import array
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradscope.probes.engine import Call as EngineCall
    from gradscope.probes.modules import Call
    from gradscope.probes.nodes import Token


class Thread:
    """The state of one thread. `base` is the stack behind the nearest anchor; `busy` while our own code runs torch."""

    __slots__ = (
        "backward",
        "base",
        "busy",
        "call",
        "calls",
        "flow",
        "last_call",
        "number",
        "operations",
        "operator",
        "pending",
        "place",
        "roots",
        "started",
        "storages",
        "tensors",
        "transforms",
        "versions",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.base = 0
        self.busy = False
        self.call: Call | None = None
        self.calls: dict[Call, int] = {}  # those of the open block, numbered from 1
        self.last_call: Call | None = None  # of the last operator in it
        self.place = 0  # the number of that one
        self.roots = 0  # outermost module calls so far
        self.backward: EngineCall | None = None
        self.operator = 0  # the last operator's name
        self.transforms = 0  # of torch.func that run, one in another
        self.pending: deque[Token] = deque(maxlen=64)  # nodes made since the last operator, where operators are seen
        self.operations: list[int] = []  # the open block
        self.flow = array("q")  # the tensors that its operators read and made
        self.tensors: dict[int, int] = {}  # storages of the open block: address -> number
        self.storages = array("q")  # their addresses, by number
        self.versions: list[int] = []  # of each of these storages, when it was first written
        self.started = 0.0

    def leave_block(self) -> None:
        """Begin anew: what belongs to the open block is stored."""
        self.operations = []
        self.calls.clear()
        self.last_call, self.place = None, 0
        self.tensors.clear()
        self.versions.clear()
        del self.storages[:]
        del self.flow[:]


class Threads(threading.local):
    """`threads.current` is the running thread's state, numbered from 0 in the order of first sight."""

    def __init__(self, numbers: itertools.count[int]) -> None:
        self.current = Thread(next(numbers))

    @classmethod
    def counting(cls) -> Threads:
        """States for the threads of one recording; the thread that asks is number 0."""
        return cls(itertools.count())
