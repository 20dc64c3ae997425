"""What one thread of the program is doing: its stack base, its module call, its backward, its last operator."""

from __future__ import annotations

from array import array
from collections import deque

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.module_call import RunningModuleCall
from gradscope.probes.core.node_token import Token
from gradscope.torch_internals.running import NO_TASK

BLOCK = 8192  # numbers after which a block is closed


class Thread:
    """The state of one thread. `base` is the stack behind the nearest anchor; `busy` while our own code runs torch.

    In one of the engine's own threads `backward` is what `GraphTasks.adopt` found last.
    """

    __slots__ = (
        "backward",
        "base",
        "busy",
        "call",
        "calls",
        "closed",
        "dataflow",
        "is_engines",
        "last_call",
        "latest",
        "maker",
        "number",
        "operations",
        "operator",
        "owner",
        "pending",
        "place",
        "room",
        "roots",
        "started",
        "storages",
        "task",
        "tensors",
        "transforms",
        "versions",
    )

    def __init__(self, number: int, is_engines: bool = False) -> None:
        self.number = number
        self.is_engines = is_engines
        self.task = NO_TASK  # of `backward`, there
        self.base = 0
        self.busy = False
        self.call: RunningModuleCall | None = None
        self.calls: dict[RunningModuleCall, int] = {}  # those of the open block, numbered from 1
        self.closed: list[int] = []  # the blocks since the last backward call began or ended
        self.last_call: RunningModuleCall | None = None  # of the last operator in it
        self.place = 0  # the number of that one
        self.roots = 0  # outermost module calls so far
        self.backward: BackwardCall | None = None
        self.operator = 0  # the last operator's name
        self.maker = 0  # the last one that may have made a node: torch detaches what a node saves of its results
        self.transforms = 0  # of torch.func that run, one in another
        self.pending: deque[Token] = deque(maxlen=64)  # nodes made since the last operator, where operators are seen
        self.operations: list[int] = []  # the open block
        self.owner: BackwardCall | None = None  # the backward that it belongs to
        self.room = 0 if is_engines else BLOCK  # numbers in it after which it is asked which block to fill
        self.dataflow = array("q")  # the tensors that its operators read and made
        self.tensors: dict[int, int] = {}  # storages of the open block: address -> number
        self.storages = array("q")  # their addresses, by number
        self.versions: list[int] = []  # of each of these storages, when it was first written
        self.latest: list[int] = []  # and when it was last
        self.started = 0.0

    def leave_block(self) -> None:
        """Begin anew: what belongs to the open block is stored."""
        self.operations = []
        self.owner = None
        self.calls.clear()
        self.last_call, self.place = None, 0
        self.tensors.clear()
        self.versions.clear()
        self.latest.clear()
        del self.storages[:]
        del self.dataflow[:]
