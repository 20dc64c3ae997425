"""Sees graph nodes that outlive their step, and what holds them.

Counting every death would cost every node. Instead the nodes of a few steps are watched: weak references to their
tokens tell which still live later. Only when nodes of several steps do, the live objects are searched for a holder.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections import Counter, deque
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import OF_A_LEAF, Token, token_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.referrers import Referrers
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.graph.node_creation import node_creation
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.guards import no_function

_COHORTS = frozenset((1, 2, 3, 4, *(2**power for power in range(3, 40))))  # steps whose nodes are watched
_REGULAR, _RECENT = 16, 8  # steps between cohorts watched besides, and how many of these: a leak may begin late
_APART = 16  # steps between two of which an evaluation's nodes are watched: one that keeps its graphs is rare in a run
_SUSPICION = 256  # steps that are all watched after the nodes of one have outlived it: others may be between cohorts
_OLD = 32  # steps after which their nodes tell of a leak
_GRACE = 2  # steps after which a step's nodes should be dead: the script may still hold its last results
_GROWING = 3  # cohorts with survivors at which the holder is searched for
_MOST_HELD, _MOST_WALKED = 200, 20_000  # tensors whose holder is looked for, and nodes walked from each
_LONGEST = 1.0  # seconds after which no further holder is looked for


class LeakedNodes(Watcher):
    """Watches the nodes of the steps in _COHORTS, and counts those alive at such a step.

    Regular cohorts are only asked whether any of their nodes lives; once several say so, all are counted.
    """

    probe = "leaked nodes"

    def __init__(self, context: Context) -> None:
        self._sink, self._nodes, self._tasks = context.sink, context.get(node_creation), context.threads.tasks
        self._cohorts: dict[int, list[weakref.ref[Token]]] = {}
        self._ended: dict[int, deque[int]] = {}  # by thread: the steps that it ended last
        self._searched = self._growing = False
        self._watched_until: int | None = None  # all steps up to this one are watched; None: no reason was seen so far
        self._steps = context.steps
        self._evaluations: list[int] = []  # steps watched since a model was evaluated with gradients on, or the like
        context.events.model_called.append(self._evaluates)
        skip_methods(LeakedNodes)

    def _evaluates(self, module: torch.nn.Module, _: Any) -> None:
        """A model is called: one in evaluation mode may make graphs that no backward frees."""
        if not module.training and torch.is_grad_enabled():
            self._watch_now()

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """A backward begins: one that leaves a graph in .grad may make nodes that nothing frees."""
        if call.outer is None and call.create_graph and call.accumulate:
            self._watch_now()

    def _watch_now(self) -> None:
        """Watch the nodes that are made in this step from now on, of one in so many."""
        if self._nodes.newborn is not None:
            return
        step = self._steps.current
        if not self._evaluations or step - self._evaluations[-1] >= _APART:
            self._evaluations.append(step)
            self._nodes.newborn = []

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """A step has ended: begin or end a cohort, and count what is left of the older ones now and then."""
        if call.outer is not None:
            return
        step = self._steps.current  # not the call's own, which may have begun long before others that have ended
        self._ended.setdefault(thread.number, deque(maxlen=_GRACE + 1)).append(step)
        newborn, self._nodes.newborn = self._nodes.newborn, None
        if newborn is not None:
            self._cohorts[step] = newborn
            self._forget_old_ones()
        if step in _COHORTS or step - _GRACE in _COHORTS or self._begins_to_grow(step):
            self._count(step)
        if step + 1 in _COHORTS or (step + 1) % _REGULAR == 0 or self._suspects(step + 1):
            self._nodes.newborn = []

    def _suspects(self, step: int) -> bool:
        """Whether all steps are watched for now."""
        return self._watched_until is not None and step <= self._watched_until

    def _forget_old_ones(self) -> None:
        """Keep the latest of the regular cohorts and of evaluations only, of a suspicion's those whose nodes live."""
        regular = [made for made in list(self._cohorts) if made not in _COHORTS and made % _REGULAR == 0]
        for made in (*regular[:-_RECENT], *self._evaluations[:-_RECENT]):
            if made not in _COHORTS:
                self._cohorts.pop(made, None)
        del self._evaluations[:-_RECENT]

    def _is_regular(self, made: int) -> bool:
        return made % _REGULAR == 0 or made in self._evaluations

    def _begins_to_grow(self, step: int) -> bool:
        """Whether nodes of several regular cohorts live now, for the first time."""
        if self._growing or (step - _GRACE) % _REGULAR:
            return False
        watched = [made for made in list(self._cohorts) if step - made >= _GRACE]
        regular = [made for made in watched if self._is_regular(made)]
        others = [made for made in watched if not self._is_regular(made)]
        living = [made for made in regular if self._left(made)]
        old = [made for made in others if self._left(made) and step - made >= _OLD]
        self._growing = len(living) >= _GROWING or len(old) >= _GROWING
        return self._growing

    def _left(self, made: int) -> list[Token]:
        """The nodes of a step that live, of threads that have gone on since.

        Those of leaves are left out: the next graph takes them over, and they live on for no fault.
        """
        watched = ((one, one()) for one in self._cohorts[made])
        living = [(one, token) for one, token in watched if token is not None and not token.of_a_leaf]
        self._cohorts[made] = [one for one, _ in living]
        if not living:
            del self._cohorts[made]
        tokens = [token for _, token in living]
        gone_on = {thread for thread in {token.thread for token in tokens} if self._has_gone_on(thread, made)}
        return [token for token in tokens if token.thread in gone_on]

    def _count(self, step: int) -> None:
        """Write how many nodes of each older step still live, by the stack that made them."""
        old: set[int] = set()
        for made in list(self._cohorts):
            left = self._left(made) if step - made >= _GRACE else []
            if left:
                old.add(made)
                self._write(step, made, left)
        if old and self._watched_until is None:
            self._watched_until = step + _SUSPICION
        if len(old) >= _GROWING and not self._searched:
            self._searched = True
            self._search(old)

    def _has_gone_on(self, thread: int, made: int) -> bool:
        """Whether a thread has ended some steps since the one in which it made nodes: others may be faster than it.

        One that has ended none may still be in its first; only the engine's own work for all the others.
        """
        own = self._ended.get(thread)
        engines = (one.number for one in list(self._tasks.threads.values()))
        ended = [own] if own is not None else list(self._ended.values()) if thread in engines else []
        return bool(ended) and all(len(one) > _GRACE and one[0] >= made for one in ended)

    def _write(self, step: int, made: int, alive: list[Token]) -> None:
        counts = Counter(token.stack for token in alive)
        youngest: dict[int, int] = {}
        for token in alive:  # in the order in which they were made
            youngest[token.stack] = token.uid
        before = self._steps.before
        rows = ((before + step, before + made, stack, count, youngest[stack]) for stack, count in counts.items())
        self._sink.add_all("survivor", rows)

    def _search(self, steps: set[int]) -> None:
        """Say what holds the tensors of nodes that live too long. Slow, because all objects are searched for each
        tensor: done once in a run, and not for long.
        """
        tokens = (one() for made in steps for one in self._cohorts[made])
        uids = {token.uid for token in tokens if token is not None}
        found: Counter[tuple[int, tuple[int, ...]]] = Counter()
        until = time.monotonic() + _LONGEST
        with no_function():
            tensors = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor and thing.grad_fn is not None]
            places = Referrers(ignored=(tensors,))
            for tensor in tensors[:_MOST_HELD]:
                if found and time.monotonic() > until:
                    break
                token, reached = token_of(tensor.grad_fn), self._reached(tensor.grad_fn, uids)
                if token is not None and reached:
                    for place in places.of(tensor):
                        words = tuple(map(self._sink.string, place))
                        found[token.stack, words] += reached
        self._sink.add_all("holder", ((stack, *words, count) for (stack, words), count in found.items()))

    def _reached(self, start: Any, uids: set[int]) -> int:
        """How many of the nodes can be walked to from one; a leaf's own is kept by whatever graph reads the leaf."""
        seen, found = {start: None}, 0
        waiting = [start]
        while waiting and len(seen) < _MOST_WALKED:
            node = waiting.pop()
            token = token_of(node)
            found += token is not None and token.uid in uids and node.name() != OF_A_LEAF
            for target, _ in node.next_functions:
                if target is not None and target not in seen:
                    seen[target] = None
                    waiting.append(target)
        self._nodes.deep.walked(list(seen))
        return found
