"""Leaves backward calls that only repeat unwatched: most of what operators cost is torch asking Python at each.

The surprise: what torch's own nodes run follows from the graph, the shapes, the gradients at hand and the forward. So
where all of these came back several times and ran the same operators each time, those stand for the next ones, too.
Nothing else is left out: not what Python code may do in a backward, nor what torch decides by looking at values.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.collectives import is_distributed
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.sink import Gone
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.hooks.recorder import HookRecorder
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.operators.blocks import MODE, NO_GRAD, WRITE, operators_of
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.operators.recorder import OperatorRecorder
from gradscope.torch_internals.dynamo import has_compiled, skip_methods

_EQUAL = 3  # equal backward calls after which the next ones are taken to be so
_AGAIN = 4  # times as many after one that differed: in the first steps torch may still add where it later adds in place
_MOST_EQUAL = 50  # what needs more than that is never taken to be so
_WATCHED = 16  # of those, every so many are watched all the same; one that differs, and none is trusted again
_KEYS = 64  # kinds of backward calls kept in mind
_BLOCKS = 64  # blocks of a forward that may be kept in mind; more are no forward of a training step
_UNFORESEEN = -1  # in place of a block that holds what another call may do otherwise


class Expected:
    """What a kind of backward call ran each time. `times` is None when it cannot be told beforehand."""

    __slots__ = ("blocks", "left_out", "needed", "times")

    def __init__(self, blocks: list[int], times: int | None) -> None:
        self.blocks = blocks
        self.times = times
        self.needed = _EQUAL
        self.left_out = 0

    def learn(self, blocks: list[int]) -> None:
        """It ran again. None is trusted any more when one differs after some were left out, or again and again."""
        if self.times is not None and blocks == self.blocks:
            self.times += 1
        elif self.times is not None:
            self.needed *= _AGAIN
            self.blocks = blocks
            self.times = 1 if blocks and not self.left_out and self.needed <= _MOST_EQUAL else None

    def is_enough(self) -> bool:
        """Whether the next one need not be watched."""
        if self.times is None or self.times < self.needed:
            return False
        self.left_out += 1
        return self.left_out % _WATCHED != 0


class Running:
    """A backward call of a kind that may repeat."""

    __slots__ = ("call", "key", "left_out", "looked")

    def __init__(self, call: BackwardCall, key: Hashable, looked: int) -> None:
        self.call = call
        self.key = key
        self.looked = looked  # results that had been looked at when it began
        self.left_out = False


class RepeatedBackwards(Watcher):
    """Knows what backward calls have run, and hears nothing of those that run the same again.

    It is the last of the watchers, because it goes by what the others have found before a call.
    """

    probe = "repeats"

    def __init__(self, context: Context) -> None:
        self._operations, self._nonfinite = context.get(OperatorRecorder), context.get(NonfiniteOnHost)
        self._hooks, self._dataflow = context.get(HookRecorder), context.get(Dataflow)
        self._tasks = context.threads.tasks
        context.events.block_closed.append(self.closed)
        context.events.content_gone.append(self._gone)
        self._known: dict[Hashable, Expected] = {}
        self._running: Running | None = None
        self._looked = 0
        skip_methods(RepeatedBackwards)

    def closed(self, thread: Thread, block: int, numbers: list[int]) -> None:
        """A block of a thread's operators is stored. What ran without gradients has no part in any backward."""
        if numbers[MODE] == NO_GRAD:
            self._looked = self._nonfinite.looked
        elif len(thread.closed) < _BLOCKS:
            call = thread.owner
            foreseen = call is None or (not any(thread.versions) and self._is_foreseen(numbers, call))
            thread.closed.append(block if foreseen else _UNFORESEEN)

    def _is_foreseen(self, numbers: list[int], call: BackwardCall) -> bool:
        """Whether torch's own nodes alone ran these operators, and ran them whatever the values were."""
        for ran in operators_of(numbers):
            if ran.name in self._operations.unforeseen or ran.stack != call.base or ran.call:
                return False
            if any(ran.written[WRITE - 1 :: WRITE]):  # a leaf's name
                return False
        return True

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Take the mode off if this call's operators are known."""
        forward, thread.closed = thread.closed, []
        looks, self._looked = self._nonfinite.looked - self._looked, self._nonfinite.looked
        if self._running is not None or not self._may_repeat(call, thread, forward):
            return
        key = _key(call, tuple(forward), looks)
        expected = self._known.get(key)
        if expected is None and any(_is_pythons(node) for node in call.live):
            self._keep(key, Expected([], None))
        elif expected is None or expected.times is not None:
            running = self._running = Running(call, key, self._looked)
            if expected is not None and expected.is_enough():
                running.left_out = True  # before it is: a signal handler may raise in between
                running.left_out = self._operations.pause()

    def _may_repeat(self, call: BackwardCall, thread: Thread, forward: list[int]) -> bool:
        """Whether nothing is about that may act in a backward, or that wants to see its operators."""
        return (
            call.outer is None
            and not (call.create_graph or call.compiled or thread.transforms or self._dataflow.on)
            and len(forward) < _BLOCKS
            and self._nonfinite.is_calm()
            and not self._tasks.threads  # an accelerator's thread works for the call
            and not is_distributed()
            and self._hooks.are_none()
            and self._operations.is_alone()
            and not has_compiled()
            and all(type(one) is torch.Tensor and one.layout is torch.strided for one in call.gradients)
            and _are_fresh(call)
        )

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Note what it ran, or write that it ran what it always does."""
        blocks, thread.closed = thread.closed, []
        running = self._running
        if running is None:
            return
        if running.call is not call:
            if call.outer is running.call:  # Python code has run in it
                self._keep(running.key, Expected([], None))
            return
        self.forget(call)
        expected = self._known.get(running.key)
        if running.left_out:
            if expected is not None and expected.times is not None and not call.failed:
                self._operations.repeat(thread, call, expected.blocks)
        elif not call.failed:
            foreseen = bool(blocks) and _UNFORESEEN not in blocks and self._nonfinite.looked == running.looked
            if expected is None:
                self._keep(running.key, Expected(blocks, 1 if foreseen else None))
            else:
                expected.learn(blocks if foreseen else [])
        self._looked = self._nonfinite.looked

    def forget(self, call: BackwardCall) -> None:
        """The call is over: operators are seen again."""
        if self._running is not None and self._running.call is call:
            if self._running.left_out:
                self._operations.resume()
            self._running = None

    def _gone(self, gone: Gone) -> None:
        """What ran blocks that are not stored any more is learnt anew."""
        for key, expected in self._known.copy().items():
            if not gone["block"].isdisjoint(expected.blocks):
                del self._known[key]

    def _keep(self, key: Hashable, expected: Expected) -> None:
        self._known.pop(key, None)
        while len(self._known) >= _KEYS:
            del self._known[next(iter(self._known))]
        self._known[key] = expected


def _key(call: BackwardCall, forward: tuple[int, ...], looks: int) -> Hashable:
    """What the operators of a backward call follow from."""
    assert call.walked is not None
    return (
        call.walked.graph,
        call.walked.tensors,
        call.roots,
        call.inputs,
        call.accumulate,
        call.keep_graph,
        forward,
        looks,  # a look tells of arguments that were not harmless
        tuple((one.dtype, one.stride()) for one in (*call.gradients, *_leaves(call))),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.is_autocast_enabled("cuda"),
    )


def _leaves(call: BackwardCall) -> list[torch.Tensor]:
    assert call.walked is not None
    return [call.live[number].variable for number in call.walked.leaves.values()]


def _are_fresh(call: BackwardCall) -> bool:
    """Whether no leaf has a gradient to add to, nor a hook: one may be older than the recording."""
    for leaf in _leaves(call):
        if (call.accumulate and leaf.grad is not None) or leaf._backward_hooks or leaf._post_accumulate_grad_hooks:
            return False
        if leaf.layout is not torch.strided:
            return False
    return True


def _is_pythons(node: Any) -> bool:
    """Whether a node is a custom Function's."""
    return hasattr(type(node), "_forward_cls")
