"""Gradients from layer to layer of one recurrent module, whose layers are one operator: no node lies between them."""

from __future__ import annotations

import re
from collections import defaultdict

from gradscope.explain.deductions.lines.settings import setting_line
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.model.site import Site, user_site
from gradscope.model.size import LeafSize

_LAYER = re.compile(r"(.*?)\.?weight_hh_l(\d+)$")
_LOST = 1e-3  # of a gradient at the last layer, that arrives at the first: four layers leave a hundredth
_SAMPLES = 3


def vanishing_layers(case: Case) -> tuple[str, LeafSize, LeafSize] | None:
    """A recurrent module whose first layer gets less than a thousandth of its last one's gradient in all steps that
    were measured: its name, and both."""
    found: dict[str, list[tuple[LeafSize, LeafSize]]] = defaultdict(list)
    for sample in samples_of(case):
        for owner, layers in _by_owner(sample).items():
            found[owner].append((layers[0], layers[-1]))
    for owner, ends in found.items():
        if len(ends) >= _SAMPLES and all(0 < first.typical < _LOST * last.typical for first, last in ends):
            return owner, *ends[-1]
    return None


def layers_set_at(case: Case, owner: str) -> Site | None:
    """The line that says how many layers a recurrent module has, or else the one that built it."""
    built = {one.stack for one in case.declarations() if one.path == owner}
    stack = built.pop() if len(built) == 1 else ()
    return setting_line(case, stack, "num_layers", 2) or user_site(stack)


def _by_owner(sample: dict[str, LeafSize]) -> dict[str, list[LeafSize]]:
    """The recurrent weights of each module that has several layers, by their layer."""
    numbered: dict[str, dict[int, LeafSize]] = defaultdict(dict)
    for name, size in sample.items():
        found = _LAYER.match(name)
        if found is not None:
            numbered[found.group(1)][int(found.group(2))] = size
    return {owner: [layers[one] for one in sorted(layers)] for owner, layers in numbered.items() if len(layers) > 1}
