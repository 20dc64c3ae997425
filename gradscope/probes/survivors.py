"""Sees graph nodes that outlive their step, and what holds them.

Counting every death would cost every node. Instead the nodes of a few steps are watched: weak references to their
tokens tell which still live later. Only when nodes of several steps do, the live objects are searched for a holder.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import torch

from gradscope.probes.dynamo import skip_methods
from gradscope.probes.engine import Call, Watcher
from gradscope.probes.faults import Faults
from gradscope.probes.holders import Places
from gradscope.probes.nodes import Nodes, Token, token_of
from gradscope.probes.sink import Sink
from gradscope.probes.threads import Thread

_COHORTS = frozenset((1, 2, 3, 4, *(2**power for power in range(3, 40))))  # steps whose nodes are watched
_GRACE = 2  # steps after which a step's nodes should be dead: the script may still hold its last results
_GROWING = 3  # cohorts with survivors at which the holder is searched for
_MOST_HELD = 50  # tensors whose holder is described


class Survivors(Watcher):
    """Watches the nodes of the steps in _COHORTS, and counts those alive at such a step."""

    def __init__(self, sink: Sink, nodes: Nodes, faults: Faults) -> None:
        self._sink, self._nodes, self._faults = sink, nodes, faults
        self._cohorts: dict[int, list[weakref.ref[Token]]] = {}
        self._searched = False
        skip_methods(Survivors)

    def after(self, call: Call, thread: Thread) -> None:
        """A step has ended: begin or end a cohort, and count what is left of the older ones now and then."""
        if call.outer is not None:
            return
        step = call.step
        if self._nodes.newborn is not None:
            self._cohorts[step], self._nodes.newborn = self._nodes.newborn, None
        if step in _COHORTS or step - _GRACE in _COHORTS:
            self._count(step)
        if step + 1 in _COHORTS:
            self._nodes.newborn = []

    def _count(self, step: int) -> None:
        """Write how many nodes of each older step still live, by the stack that made them."""
        old: set[int] = set()
        for made, cohort in list(self._cohorts.items()):
            alive = self._cohorts[made] = [one for one in cohort if one() is not None]
            if not alive:
                del self._cohorts[made]
            elif step - made >= _GRACE:
                old.add(made)
                counts = Counter(token.stack for token in (one() for one in alive) if token is not None)
                self._sink.add_all("survivor", ((step, made, stack, count) for stack, count in counts.items()))
        if len(old) >= _GROWING and not self._searched:
            self._searched = True
            self._search(old)

    def _search(self, steps: set[int]) -> None:
        """Say what holds the tensors of nodes that live too long. Slow: done once in a run."""
        tokens = (one() for made in steps for one in self._cohorts[made])
        uids = {token.uid for token in tokens if token is not None}
        with torch._C.DisableTorchFunction():
            held = [(thing, stack) for thing, stack in _tensors_of_nodes() if stack[0] in uids]
            places = Places(ignored=(held, *held))
            for tensor, (_, stack) in held[:_MOST_HELD]:
                for place in places.of(tensor):
                    self._sink.add("holder", (stack, *map(self._sink.string, place)))


def _tensors_of_nodes() -> list[tuple[Any, tuple[int, int]]]:
    """Every live tensor that a recorded node made, with the uid and the stack of the node."""
    found = []
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.grad_fn is not None:
            token = token_of(thing.grad_fn)
            if token is not None:
                found.append((thing, (token.uid, token.stack)))
    return found
