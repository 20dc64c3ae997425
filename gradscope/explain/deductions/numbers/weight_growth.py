"""How large weights and gradients were, at first and from step to step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

from gradscope.explain.deductions.lines.graph_cuts import first_values
from gradscope.explain.deductions.numbers.nonfinite_arrivals import first_nonfinite
from gradscope.explain.evidence.case import Case
from gradscope.model.site import Site
from gradscope.model.size import LeafSize

_GROWN, _GROWN_AND_OVERFLOWN, _GROWN_AT_ONCE = 100.0, 10.0, 3.0
_AT_ONCE = 8  # backward calls
_HUGE = 1e15  # numbers of which a product or a square is none in float32
_EXPONENTS = ("exp", "exp2", "expm1", "sinh", "cosh", "logsumexp")
_FAR_TOO_LARGE = 500.0  # an exponent: 89 is too large already
PRODUCTS = ("addmm", "baddbmm", "bmm", "convolution", "linear", "mm", "mse_loss", "mul", "pow", "square")
_LARGE = 4.0  # times what goes in comes out of a layer: with torch's own weights it is less than what goes in
_FEW = 16  # inputs of a layer of which nothing is said
_SEVERAL = 2
_AFTER_A_GRADIENT = "post_accumulate"
_USUAL = 0.1  # the size of an element of most weights


def has_diverged(case: Case) -> bool:
    """Whether what is not finite is the end of a growth: of weights from step to step, or from layer to layer."""
    return weight_growth(case) is not None or (has_overflown(case) and begun_large(case) is not None)


def weight_growth(case: Case) -> tuple[LeafSize, LeafSize] | None:
    """The weight that grew most while it was finite, as measured first and last; None when none grew so much that it
    explains what is not finite."""
    overflown = has_overflown(case)
    return _growth(case, lambda calls: _least(calls, overflown))


def is_certain(grown: tuple[LeafSize, LeafSize]) -> bool:
    """Whether a growth is so large that nothing else need have happened."""
    return grown[1].weight / _size_before(grown[0]) >= _GROWN


def growth_at_all(case: Case) -> tuple[LeafSize, LeafSize] | None:
    """The same of a weight that has grown several times."""
    return _growth(case, lambda calls: _GROWN_AT_ONCE)


def _growth(case: Case, least: Callable[[int], float]) -> tuple[LeafSize, LeafSize] | None:
    samples = samples_of(case)
    best: tuple[LeafSize, LeafSize] | None = None
    for name, first in samples[0].items() if samples else ():
        sizes = [one[name] for one in samples if name in one and one[name].weight < float("inf")]
        ratio = sizes[-1].weight / _size_before(first) if sizes else 0.0
        if (
            sizes
            and ratio >= least(sizes[-1].backward - first.backward)
            and (best is None or ratio > best[1].weight / _size_before(best[0]))
        ):
            best = first, sizes[-1]
    return best


def _least(calls: int, overflown: bool) -> float:
    """How many times a weight must have grown in so many backward calls."""
    if not overflown:
        return _GROWN
    return _GROWN_AT_ONCE if calls <= _AT_ONCE else _GROWN_AND_OVERFLOWN


def has_overflown(case: Case) -> bool:
    """Whether the first Inf was made of numbers that were nearly as large, or by a product, which is not looked at."""
    found = first_nonfinite(case)
    if found is None or found.birth is None:
        return found is not None and found.arrival is not None and found.arrival.leaf is None  # else a derivative did
    if found.birth.nan:
        return False
    if found.birth.device is not None:
        return found.birth.base in PRODUCTS  # what it was given is not known
    least = _FAR_TOO_LARGE if found.birth.base in _EXPONENTS else _HUGE
    bounds = [bound for one in found.birth.given for bound in (one.least, one.most) if bound is not None]
    return any(least < abs(bound) < math.inf for bound in bounds)


def begun_large(case: Case) -> tuple[Site, float] | None:
    """The line that gave weights of several layers their first values, so large that what goes through them grows from
    layer to layer, and how many times in one of them."""
    sizes = list(samples_of(case)[0].values()) if samples_of(case) else []
    nodes = {node.leaf: node for node in case.graph(sizes[0].backward).nodes} if sizes else {}
    gains: dict[Site, list[float]] = defaultdict(list)
    for size in sizes:
        node = nodes.get(size.leaf)
        kind = next((one for one in node.inputs_meta if one is not None), None) if node is not None else None
        inputs = math.prod(kind.shape[1:]) if kind is not None and len(kind.shape) > 1 else 0
        gain = size.weight / math.sqrt(size.count) * math.sqrt(inputs)
        site = first_values(case, size.leaf) if inputs >= _FEW and gain > _LARGE else None
        if site is not None:
            gains[site].append(gain)
    site = max(gains, key=lambda one: len(gains[one]), default=None)
    return None if site is None or len(gains[site]) < _SEVERAL else (site, max(gains[site]))


def _size_before(first: LeafSize) -> float:
    """What growth is measured against: a bias that begins at zero has not grown when it is trained."""
    return max(first.weight, _USUAL * math.sqrt(first.count))


def samples_of(case: Case) -> list[dict[str, LeafSize]]:
    """The measured steps, in order, each by leaf; without zeros that a hook may have made of a gradient it used."""
    known = {call.number for call in case.backwards()}
    used = {one.on for one in case.hooks() if one.kind == _AFTER_A_GRADIENT}
    found: dict[int, dict[str, LeafSize]] = {}
    for size in case.sizes():
        if size.backward in known and (size.gradient or size.leaf not in used):
            found.setdefault(size.backward, {})[size.leaf] = size
    return [found[number] for number in sorted(found)]
