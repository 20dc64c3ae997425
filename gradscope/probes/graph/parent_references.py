"""Undoes what anomaly mode does to nodes that are made inside a backward: each holds its parent, strongly."""

from __future__ import annotations

import gc
import sys

from gradscope.probes.core.node_token import KEY, Token

_REFERENCES_OF_A_DEAD_ONE = 3  # the list, the loop and getrefcount itself


def release_parents(made: list[Token]) -> None:
    """Drop the strong reference to its parent that anomaly mode gives to every node made in a backward.

    It makes a cycle that the collector cannot see. The nodes' metadata is found among the young objects; only when a
    node that still lives was not found there, among all.
    """
    left = {token.uid for token in made if sys.getrefcount(token) > _REFERENCES_OF_A_DEAD_ONE}
    for generation in (0, 1, 2):
        if not left:
            return
        for candidate in gc.get_objects(generation=generation):
            if type(candidate) is dict and "parent_" in candidate:
                token = candidate.get(KEY)
                if isinstance(token, Token):
                    candidate.pop("parent_", None)  # gone when another thread has just done the same
                    left.discard(token.uid)
