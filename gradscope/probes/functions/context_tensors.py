"""Sees tensors that custom Functions keep as attributes of ctx, while they run."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import Token, token_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread

ON_CTX = "context"  # a kind of holder
_FIRST = 6  # steps whose nodes are looked at, before only powers of two
_GRACE = 2  # steps after which a step's nodes should be dead: the script may still hold its last results
_MOST, _MOST_WALKED = 64, 1000  # nodes that are waited for, and nodes walked from an attribute


class ContextTensors(Watcher):
    """Looks for tensors that Functions keep as attributes of ctx, where they do harm.

    A backward that is differentiated again has no gradient for them. And an output, or what was made of it, holds its
    node, which is ctx: that node outlives its step. A node counts as doing so when it lives two steps later.
    """

    probe = "context tensors"

    def __init__(self, context: Context) -> None:
        self._sink, self._faults = context.sink, context.faults
        self._holding: list[tuple[int, weakref.ref[Token], str, str]] = []  # step, of the node, attribute, node's type
        self._noted: set[tuple[str, str]] = set()

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Note the attributes that have no gradient, though they are numbers, and those that keep their node alive."""
        if call.walked is None:
            return
        try:
            self._note_the_living(call.step)
            is_young = call.step < _FIRST or call.step & (call.step - 1) == 0
            if call.create_graph or (is_young and len(self._holding) < _MOST):
                for node in call.live:
                    token = token_of(node) if hasattr(type(node), "_forward_cls") else None
                    if token is not None:
                        self._look(call, call.walked.numbers[token.uid], node, token)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _look(self, call: BackwardCall, number: int, node: Any, token: Token) -> None:
        for name, value in vars(node).items():
            if not isinstance(value, torch.Tensor):
                continue
            if call.create_graph and value.is_floating_point() and not value.requires_grad:
                self._sink.add("on_context", (call.number, number, self._sink.string(name)))
            elif value.grad_fn is not None and _leads_to(value.grad_fn, node):
                self._holding.append((call.step, weakref.ref(token), name, type(node).__name__))

    def _note_the_living(self, step: int) -> None:
        old = [one for one in self._holding if one[0] + _GRACE <= step]
        for one in old:
            self._holding.remove(one)
            token, name, owner = one[1](), one[2], one[3]
            if token is not None and (name, owner) not in self._noted:
                self._noted.add((name, owner))
                words = map(self._sink.string, (ON_CTX, name, owner))
                self._sink.add("holder", (token.stack, *words, 1))


def _leads_to(start: Any, node: Any) -> bool:
    """Whether a node can be walked to from another, or is it."""
    seen, waiting = {start}, [start]
    while waiting and len(seen) < _MOST_WALKED:
        one = waiting.pop()
        if one is node:
            return True
        for target, _ in one.next_functions:
            if target is not None and target not in seen:
                seen.add(target)
                waiting.append(target)
    return False
