"""Lets graphs of any depth die, though their nodes have been seen from Python.

The surprise: torch frees a chain of nodes in a loop, but one that has a Python object frees the next from inside its
own end. Forty thousand of these in a row overflow the stack. Some nodes, chosen by chance, are therefore held until
nothing else does, so that only stretches between them end in one go.
"""

from __future__ import annotations

import ctypes
import random
import sys
import threading
import weakref
from typing import Any

from gradscope.probes.core.node_token import Token

_APART = 256  # nodes from one that is chosen to the next, on average
_MANY = 16  # chosen nodes that live, from which on graphs may be deep
_SAFE = 16_384  # nodes in a row that may end in one go: less than half of what overflowed a stack of 8 MiB
_ONLY_OURS = 2  # references to a node's Python object: our list's, and the question's


class DeepGraphs:
    """Holds some of the living nodes once they are many. `due`: the uid from which on the next one is chosen."""

    def __init__(self) -> None:
        self._chance = random.Random(0)  # the program's own random numbers stay as they are
        self._chosen: list[weakref.ref[Token]] = []
        self._held: list[Any] = []  # in the order in which they were made
        self._turn = threading.Lock()
        self.due = 0

    def passed(self, token: Token) -> None:
        """A node was made that Python has not seen yet."""
        self.due = token.uid + self._chance.randrange(1, 2 * _APART)
        self.let_go()

    def made(self, node: Any, token: Token) -> None:
        """A node was made and shown to Python: hold it where many live."""
        self.passed(token)
        self._chosen = [one for one in self._chosen if one() is not None]
        self._chosen.append(weakref.ref(token))
        if len(self._chosen) >= _MANY:
            self._held.append(node)

    def walked(self, nodes: list[Any]) -> None:
        """Nodes were reached from Python, those near the root first."""
        if len(nodes) >= _MANY * _APART:
            known = set(map(id, self._held))
            some = self._chance.sample(range(len(nodes)), len(nodes) // _APART)
            self._held += [nodes[at] for at in sorted(some, reverse=True) if id(nodes[at]) not in known]

    def let_go(self) -> None:
        """Let nodes end that nothing but us holds any more: the youngest first, each ends up to the next."""
        if self._held and self._turn.acquire(blocking=False):
            try:
                while _end_some(self._held):  # an end may be the last thing that held another
                    pass
            finally:
                self._turn.release()

    def leave(self) -> None:
        """The recording ends before the graphs may: what could be too deep to end in one go is held for good."""
        self.let_go()
        if len(self._held) * _APART >= _SAFE:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._held))
        else:
            self._held.clear()


def _end_some(held: list[Any]) -> bool:
    """Whether some were held by us alone and have ended."""
    before = len(held)
    for at in range(before - 1, -1, -1):
        if sys.getrefcount(held[at]) <= _ONLY_OURS:
            del held[at]
    return len(held) < before
