"""Numbers behind the names of models of one class that two ranks gave the other way round.

A model is named by its class, and numbered from the second of its class on, in the order of first calls. Where that
hangs on chance (an agent that explores calls its model later than its slow copy), the same model is `QNet` on one rank
and `QNet#2` on another.
"""

from __future__ import annotations

import math

from gradscope.model.averaging import Averaging
from gradscope.model.rank import Weights
from gradscope.ranks.core.keys import MODEL, renamed
from gradscope.ranks.core.known import NOISE, Ranks


def swapped(ranks: Ranks, averaging: Averaging, looks: list[Weights]) -> dict[str, str]:
    """By a model's name on a rank that is about to be added: its name on the first rank; empty where all are alike.

    Only of models whose gradients are averaged, one of its class on each of the two ranks, whose parameters have the
    same names and norms at the first look: they are copies of one then.
    """
    first = next((number for number, one in ranks.averaging.items() if _averaged(one)), None)
    if first is None or not looks or _averaged(averaging) == _averaged(ranks.averaging[first]):
        return {}
    known = ranks.weights
    before = next((one for (at, content), one in known.first.items() if first in known.ranks[at][content]), None)
    if before is None or before.backward != looks[0].backward:
        return {}
    theirs, ours = (_roots(_averaged(one)) for one in (ranks.averaging[first], averaging))
    found: dict[str, str] = {}
    for kind in theirs.keys() & ours.keys():
        if len(theirs[kind]) == len(ours[kind]) == 1 and theirs[kind] != ours[kind]:
            (there,), (here,) = theirs[kind], ours[kind]
            if _are_equal(_below(before, there), _below(looks[0], here)):
                found |= {here: there, there: here}
    return found


def with_names(weights: Weights, names: dict[str, str]) -> Weights:
    """A look with the names of the first rank, in their order."""
    return Weights(weights.backward, tuple(sorted((renamed(name, names), norm) for name, norm in weights.norms)))


def _averaged(one: Averaging) -> frozenset[str]:
    return one.leaves | {each.leaf for each in one.by_hand}


def _roots(leaves: frozenset[str]) -> dict[str, set[str]]:
    """By class: the names of models."""
    found: dict[str, set[str]] = {}
    for root in filter(None, map(MODEL.match, leaves)):
        found.setdefault(root[1], set()).add(root[0])
    return found


def _below(look: Weights, root: str) -> dict[str, float]:
    """The norms of a model's parameters, by what they are called in it."""
    return {name[len(root) :]: float(norm) for name, norm in look.norms if name.startswith(f"{root}.")}


def _are_equal(ours: dict[str, float], theirs: dict[str, float]) -> bool:
    if ours.keys() != theirs.keys() or not any(ours.values()):
        return False
    return all(math.isclose(norm, theirs[name], rel_tol=NOISE) for name, norm in ours.items())
