"""Undoes what anomaly mode does to nodes that are made inside a backward: each holds its parent, strongly."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from typing import Any

from gradscope.probes.core.node_token import KEY, Token
from gradscope.probes.core.young_objects import SearchesOfAll, young_generations

PARENT = "parent_"  # torch's key in a node's metadata
_REFERENCES_OF_A_DEAD_ONE = 3  # the list, the loop and getrefcount itself


class ParentReferences:
    """Drops the strong reference to its parent that anomaly mode gives to every node made in a backward.

    It makes a cycle that the collector cannot see. The nodes' metadata is found among the young objects; what is not
    found there waits until a search of all is due.
    """

    def __init__(self) -> None:
        self._all = SearchesOfAll()
        self._missed: list[weakref.ref[Token]] = []

    def release(self, made: list[Token]) -> None:
        """Drop those of the nodes with these tokens."""
        left = {token.uid for token in made if sys.getrefcount(token) > _REFERENCES_OF_A_DEAD_ONE}
        for generation in young_generations() if left else ():
            _drop(gc.get_objects(generation=generation), left)
        self._missed += [weakref.ref(token) for token in made if token.uid in left]
        if self._missed and (objects := self._all.objects(len(made))):
            _drop(objects, {token.uid for one in self._missed if (token := one()) is not None})
            self._missed = []


def _drop(objects: Iterable[Any], left: set[int]) -> None:
    for candidate in objects:
        if type(candidate) is dict and PARENT in candidate:
            token = candidate.get(KEY)
            if isinstance(token, Token):
                candidate.pop(PARENT, None)  # gone when another thread has just done the same
                left.discard(token.uid)
                if not left:
                    return
