"""A bias that each rank adds to its part of a product, before the parts are summed over the ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import values_at
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import SUMS, sum_on
from gradscope.ranks.gradients.plain_bias import plain_sums
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.store.reader import Recording, load

_PRODUCTS = ("mm", "bmm", "mv", "matmul", "addmm", "baddbmm", "addmv", "linear", "convolution")
_ADDITIONS = ("add", "add_")
_COPIES = ("clone", "detach", "contiguous", "_to_copy", "alias")
_LOOKS = 2


@dataclass(frozen=True, slots=True)
class Added:
    """The line that adds a bias to a product with a weight, or may do so yet, and that of the sum over ranks."""

    site: Site
    weight: str
    bias: str | None = None
    summed: Site | None = None


def bias_summed(ranks: Ranks) -> Added | None:
    """The first bias that two ranks have alike and add before a sum, to products with weights that they do not."""
    if len(ranks.ranks) < 2 or not any(one.operator.startswith(SUMS) for one in ranks.collectives):
        return None
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:2])
        found = list(dict.fromkeys(_sums(here)))
        theirs = set(_sums(there)) if found else set()
        known = next((one for one in found if one in theirs and _is_in_parts(ranks, one)), None)
        plain = list(dict.fromkeys(plain_sums(here))) if known is None else []
        alike = set(plain_sums(there)) if plain else set()
        return known or next((Added(*one) for one in plain if one in alike), None)


def _is_in_parts(ranks: Ranks, added: Added) -> bool:
    """Whether the ranks have, at each look at both, one bias and more than one weight."""
    values = (values_at(ranks.weights, [at]) for at in ranks.weights.ranks)
    known = [(one[added.bias], one[added.weight]) for one in values if added.bias in one and added.weight in one]
    return len(known) >= _LOOKS and all(len(bias) == 1 < len(weight) for bias, weight in known)


def _sums(recording: Recording) -> Iterator[Added]:
    """Each sum over ranks of a product to which a bias was added, and nothing else was done."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    leaves = {one.storage: one for one in tensors.values() if one.leaf is not None and one.parameter}
    known: dict[int, Added] = {}  # by storage
    for one in recording.flow():
        if one.backward is not None:
            continue
        read = [tensors[each.tensor].storage for each in one.reads if each.tensor in tensors]
        made = {tensors[each].storage for each in one.makes if each in tensors}
        if one.operation.name.startswith(SUMS):
            for added in [known.pop(storage) for storage in read if storage in known]:
                if added.bias is not None and one.site is not None and _is_sum(recording, one.site):
                    yield replace(added, summed=one.site)
        elif one.operation.writes or not made.issubset(read):  # else it is a view
            after = _after(one, [leaves[storage] for storage in read if storage in leaves], known, read)
            for storage in made:
                known.pop(storage, None)
            known.update({storage: after for storage in made if after is not None})


def _after(one: FlowOperation, leaves: list[FlowTensor], known: dict[int, Added], read: list[int]) -> Added | None:
    """What an operator gives: a product with a weight, with or without a bias, or a copy of one."""
    name, site = base_name(one.operation.name), one.site
    biases = [each.leaf for each in leaves if len(each.type.shape) == 1]
    weights = [each.leaf for each in leaves if len(each.type.shape) > 1 and each.leaf is not None]
    before = [known[storage] for storage in read if storage in known]
    if name in _PRODUCTS and len(weights) == 1 and site is not None:
        return Added(site, weights[0], biases[0] if len(biases) == 1 else None)
    if name in _ADDITIONS and len(before) == len(biases) == 1 and before[0].bias is None and site is not None:
        return Added(site, before[0].weight, biases[0])
    return before[0] if name in _COPIES and len(before) == 1 else None


def _is_sum(recording: Recording, site: Site) -> bool:
    """Whether a line of the program sums over ranks; where torch calls the collective, its name has to do."""
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and sum_on(function, site.line) is not None
