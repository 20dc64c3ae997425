"""Sees whether anything of the program's holds a leaf that a backward gives a gradient to.

The surprise: a tensor that Python has let go lives on in the graph, and so does its Python object, which torch keeps by
one reference. How that counts is asked of an object that has one owner: interpreters differ in what they count besides.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import partial
from itertools import islice

from gradscope.model.notice import UNHELD, UNHELD_BESIDE
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.probe import Guest
from gradscope.probes.core.thread_state import Thread
from gradscope.torch_internals.dynamo import skip_methods

_MOST = 256  # leaves of a backward that are asked
_CALLS = 4  # backward calls


class _Owned:
    """What has one owner."""


class HeldLeaves(Guest):
    """Notes where leaves were read that nothing holds: of the first backward calls, and of those whose leaves are all
    so; in nearly all programs the first backward has others."""

    probe = "held leaves"

    def __init__(self, context: Context) -> None:
        self._sink, self._names, self._faults = context.sink, context.names, context.faults
        self._reached: dict[int, int] = {}  # in how many backward calls an unheld leaf was, by the uid of its node
        self._stacks: dict[int, int] = {}  # the most of these, by where such leaves were read
        self._alone, self._calls = True, 0  # whether no leaf was met that anything holds
        self._owned = [_Owned()]
        skip_methods(HeldLeaves)

    def __exit__(self, *error: object) -> None:
        for stack, count in self._stacks.copy().items():
            self._sink.add("notice", (UNHELD if self._alone and count > 1 else UNHELD_BESIDE, stack))

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """The call is about to give gradients to its leaves."""
        if call.outer is not None or not call.accumulate or call.walked is None:
            return
        self._calls += 1
        if self._calls > _CALLS and (not self._alone or len(self._reached) > _MOST):
            return
        try:
            self._look(call, call.walked.leaves)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _look(self, call: BackwardCall, leaves: dict[int, int]) -> None:
        alone = _references(weakref.ref(self._owned[0]))
        asked = list(islice(leaves.items(), _MOST))
        unheld = {number for one, number in asked if _references(partial(self._names.tensor, one)) == alone}
        self._alone = self._alone and 0 < len(unheld) == len(leaves)
        for node in call.live if unheld else ():
            token = token_of(node)
            if token is not None and call.walked is not None and call.walked.numbers.get(token.uid) in unheld:
                count = self._reached[token.uid] = self._reached.get(token.uid, 0) + 1
                self._stacks[token.stack] = max(count, self._stacks.get(token.stack, 0))


def _references(get: Callable[[], object]) -> int:
    found = get()
    return 0 if found is None else sys.getrefcount(found)
