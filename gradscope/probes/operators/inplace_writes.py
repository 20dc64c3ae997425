"""Finds out why a backward was refused what it had saved, and which saved tensors were written out of torch's sight.

Torch notices an edit by a version that the aliases of a tensor share. An alias made by `.data` has one of its own: what
is written through it is in the values, but neither in the graph nor in the version.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from gradscope.model.flow import is_looked_at
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import OF_A_LEAF, Token, token_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.functions.input_writes import InputWrites
from gradscope.probes.graph.node_creation import node_creation
from gradscope.probes.operators.blocks import is_alone
from gradscope.probes.tensors.contents import Content, content_of, is_changed
from gradscope.probes.tensors.layout import Layout, layout_of, meet
from gradscope.probes.tensors.metadata import storage_of
from gradscope.probes.tensors.saved import is_freed, moved, saved_of

_BLOCKS = 256  # the last blocks whose storages are remembered
_RUNS = 256  # the last backward calls whose nodes are remembered
_NODES = 1_000_000  # nodes that may be remembered
_MOST_HIDDEN = 1024  # hidden writes kept
_RESHAPE = ("AsStrided", "View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Expand", "Alias")
_TURN = ("T", "Transpose", "Permute", "Select", "Slice")
_VIEWS = tuple(f"{name}Backward" for name in (*_RESHAPE, *_TURN))
_FREED = "second time"  # in torch's words when what a node saved is gone
_FAILURES = 8  # backward calls that are looked into after they raised


class FinishedBackward:
    """A backward call that has run: its number, whether it kept the graph, and the number of each node by uid."""

    __slots__ = ("kept", "number", "numbers")

    def __init__(self, number: int, kept: bool, numbers: dict[int, int]) -> None:
        self.number = number
        self.kept = kept
        self.numbers = numbers


@dataclass(frozen=True, slots=True)
class _Write:
    """A hidden write: the uid of the youngest node then, the operator and its stack, and the bytes that it wrote."""

    uid: int
    operator: int
    stack: int
    layout: Layout | None


AnyWrite = TypeVar("AnyWrite", bound=_Write)


@dataclass(frozen=True, slots=True)
class _Received(_Write):
    """What a collective writes, with what was there before."""

    before: Content


class InplaceWrites(Watcher):
    """Remembers, as plain numbers, which storages were written lately and which nodes have run."""

    probe = "in-place writes"

    def __init__(self, context: Context) -> None:
        self._sink, self._nodes, self._faults = context.sink, context.get(node_creation), context.faults
        self._blocks: deque[tuple[int, array[int]]] = deque(maxlen=_BLOCKS)  # number of the run, its storages in order
        self._ran: deque[FinishedBackward] = deque(maxlen=_RUNS)
        self._remembered = 0
        self._hidden: list[tuple[int, _Write]] = []  # with the storage
        self._latest = 0  # uid at the last hidden write
        self._received: list[tuple[int, _Received]] = []  # as above: what collectives wrote, which raise no version
        self._collectives: Counter[int] = Counter()  # how often each stack ran one
        self._failures = 0
        self._input_writes = InputWrites(context.sink)

    # hot: called by the operators' probe

    def closed(self, block_run: int, storages: array[int]) -> None:
        """A block is over, which wrote these storages, by their numbers in it."""
        if storages:
            self._blocks.append((block_run, storages[:]))

    def wrote(self, tensor: torch.Tensor, storage: int, operator: int, stack: int) -> None:
        """A tensor of version 0, or one that came out of the graph while autograd is off, is about to be written.

        Note the write when the graph may not know of it: an alias with a version of its own starts at 0 again.
        """
        if tensor.requires_grad and self._input_writes.note(tensor, storage, operator, stack):
            return
        if tensor.requires_grad or (storage and not is_alone(tensor, storage)):
            self._note(tensor, storage, operator, stack)

    def _note(self, tensor: torch.Tensor, storage: int, operator: int, stack: int) -> None:
        if len(self._hidden) > _MOST_HIDDEN:
            del self._hidden[: _MOST_HIDDEN // 2]
        self._latest = self._nodes.youngest()
        self._hidden.append((storage, _Write(self._latest, operator, stack, layout_of(tensor))))

    def received(self, tensors: Sequence[torch.Tensor], operator: int, stack: int) -> None:
        """A collective is about to write tensors, which no version will tell, whether they are aliases or not.

        What it does to the graph hardly differs from call to call: the first calls of a line are looked at, and then
        fewer and fewer, because a digest of what was there takes longer than all else that is noted of a collective.
        """
        count = self._collectives[stack]
        self._collectives[stack] = count + 1
        if not is_looked_at(count):
            return
        if len(self._received) > _MOST_HIDDEN:
            del self._received[: _MOST_HIDDEN // 2]
        youngest = self._nodes.youngest()
        for one in tensors:
            layout = layout_of(one)
            if layout is not None:
                write = _Received(youngest, operator, stack, layout, content_of(one))
                self._received.append((storage_of(one)[0], write))

    # around a backward

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Look for saved tensors that were written behind autograd's back since they were saved."""
        if call.walked is None or not (self._hidden or self._received):
            return
        oldest = min(call.walked.numbers, default=0)
        try:
            if self._hidden and oldest < self._latest:
                self._find_hidden(call, call.walked.numbers)
            if self._received and oldest < self._received[-1][1].uid:
                self._find_received(call, thread, call.walked.numbers)
        except Exception as error:
            self._faults.note(self.probe, error)

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Remember the nodes of a call."""
        if call.walked is None:
            return
        self._ran.append(FinishedBackward(call.number, call.keep_graph, call.walked.numbers))
        self._remembered += len(call.walked.numbers)
        while self._remembered > _NODES and len(self._ran) > 1:
            self._remembered -= len(self._ran.popleft().numbers)

    def failed(self, call: BackwardCall, error: BaseException) -> None:
        """Look at what the nodes have saved, and say why it cannot be used."""
        if not isinstance(error, RuntimeError) or call.walked is None or self._failures >= _FAILURES:
            return
        self._failures += 1
        try:
            numbers = call.walked.numbers
            refusing: dict[int, int] = {}  # nodes that refuse to run, by sequence number
            for node in call.live:
                token = token_of(node)
                if token is not None and token.uid in numbers:
                    number = numbers[token.uid]
                    if self._look(call, number, token.uid, node, str(error)):
                        refusing[node._sequence_nr()] = number
            if call.stopped is None and refusing and (call.inputs is None or len(refusing) == 1):
                call.stopped = refusing[max(refusing)]  # the youngest: the engine comes to it first
        except Exception as fault:
            self._faults.note(self.probe, fault)

    def _look(self, call: BackwardCall, number: int, uid: int, node: Any, message: str) -> bool:
        """Write what became of all that a node had saved. Whether the exception's message is about that."""
        refuses = False
        ran = [one for one in self._ran if one.number < call.number and uid in one.numbers]
        if ran:
            last = next((one for one in reversed(ran) if not one.kept), ran[-1])
            freed = bool(is_freed(node))
            self._sink.add("reused", (call.number, number, last.number, last.numbers[uid], freed))
            refuses = freed and _FREED in message
        for name, saved in saved_of(node):
            versions = moved(node, name, saved)
            if versions is not None:
                refuses = refuses or f"is at version {versions[1]}; expected version {versions[0]}" in message
                label = self._sink.string(name)
                self._sink.add("stale", (call.number, number, label, *versions))
                self._trail(call, number, label, storage_of(saved.data)[0])
        return refuses

    def _trail(self, call: BackwardCall, node: int, name: int, storage: int) -> None:
        """The blocks in which a storage was written, the last first."""
        if not storage:
            return
        for block_run, storages in reversed(tuple(self._blocks)):
            for position, address in enumerate(storages):
                if address == storage:
                    self._sink.add("trail", (call.number, node, name, block_run, position))

    # hidden writes

    def _find_hidden(self, call: BackwardCall, numbers: dict[int, int]) -> None:
        writes = _by_storage(self._hidden)
        made = _made(call.live)
        for node in call.live:
            token = token_of(node)
            if token is None or token.uid not in numbers:
                continue
            for name, saved in saved_of(node):
                kept = saved.data
                after = writes.get(storage_of(kept)[0], ()) if isinstance(kept, torch.Tensor) else ()
                for write in _on(kept, after) if after else ():
                    late = made.get(token.uid, write.uid) < write.uid
                    if (late and moved(node, name, saved) is None) or _between(token, kept, write.uid, made):
                        row = (self._sink.string(name), write.operator, write.stack, late)
                        self._sink.add("hidden_write", (call.number, numbers[token.uid], *row))

    def _find_received(self, call: BackwardCall, thread: Thread, numbers: dict[int, int]) -> None:
        """Only the nodes that are older than a collective are looked at: between steps these are those of leaves."""
        latest, writes = self._received[-1][1].uid, _by_storage(self._received)
        made: dict[int, int] = {}
        for node in call.live:
            token = token_of(node)
            if token is None or token.uid not in numbers or token.uid >= latest:
                continue
            for name, saved in saved_of(node):
                kept = saved.data
                after = writes.get(storage_of(kept)[0], ()) if isinstance(kept, torch.Tensor) else ()
                for write in _on(kept, after) if after else ():
                    made = made or _made(call.live)
                    late = made.get(token.uid, write.uid) < write.uid and moved(node, name, saved) is None
                    if late and self._is_changed(write, kept, thread):
                        row = (self._sink.string(name), write.operator, write.stack, True)
                        self._sink.add("hidden_write", (call.number, numbers[token.uid], *row))

    def _is_changed(self, write: _Received, kept: torch.Tensor, thread: Thread) -> bool:
        busy, thread.busy = thread.busy, True
        try:
            return is_changed(write.before, kept)
        finally:
            thread.busy = busy


def _by_storage(writes: Sequence[tuple[int, AnyWrite]]) -> dict[int, list[AnyWrite]]:
    found: dict[int, list[AnyWrite]] = {}
    for storage, write in writes:
        found.setdefault(storage, []).append(write)
    return found


def _on(kept: torch.Tensor, writes: Sequence[AnyWrite]) -> Iterator[AnyWrite]:
    """Those of the writes to a tensor's storage that hit an element of it: another may be a neighbour's."""
    layout = layout_of(kept)
    return (one for one in writes if layout and one.layout and meet(one.layout, layout))


def _between(reader: Token, kept: torch.Tensor, write: int, made: dict[int, int]) -> bool:
    """Whether a write lies between the node that made a tensor and the one that saved it."""
    token = None if write > reader.uid else _maker(kept.grad_fn, write)
    return token is not None and made.get(token.uid, write) < write


def _maker(node: Any, write: int) -> Token | None:
    """The token of the node that made the memory of a tensor; None where that is a leaf's, which may be written.

    Torch makes a new node for a view whose base was written when it is read: before its reader's in torch 2.15, after
    it in 2.13.
    """
    token = None if node is None else token_of(node)
    while token is not None and token.uid >= write and node.name().startswith(_VIEWS):
        inputs = [one for one, _ in node.next_functions if one is not None]
        node = inputs[0] if len(inputs) == 1 and inputs[0].name() != OF_A_LEAF else None
        token = None if node is None else token_of(node)
    return token


def _made(live: list[Any]) -> dict[int, int]:
    """By uid, the uid after which nodes had run their forward for sure.

    Torch makes a custom Function's node before it runs the forward: only a node that takes its output tells that it is
    over.
    """
    readers, found = _first_readers(live), {}
    for node in live:
        token = token_of(node)
        if token is not None:
            made = readers.get(token.uid) if hasattr(type(node), "_forward_cls") else token.uid
            if made is not None:
                found[token.uid] = made
    return found


def _first_readers(live: list[Any]) -> dict[int, int]:
    """The uid of the oldest node that takes the output of each node."""
    found: dict[int, int] = {}
    for node in live:
        token = token_of(node)
        for target, _ in node.next_functions:
            read = None if target is None else token_of(target)
            if token is not None and read is not None:
                found[read.uid] = min(token.uid, found.get(read.uid, token.uid))
    return found
