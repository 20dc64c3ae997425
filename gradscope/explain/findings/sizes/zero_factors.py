"""GS890: two parameters that begin at zero and multiply each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.zero_factors import ZeroFactors, zero_factors
from gradscope.explain.deductions.lines.graph_cuts import first_values
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_INIT = "init.py"  # of torch.nn


def both_factors_zero(case: Case) -> Iterator[Cause]:
    """What it flags: two parameters that are all zero and multiply each other, and never get another gradient than 0.

    Why: the derivative of a product by one factor is the other one. Where both are zero, so are both gradients, in each
    step again: what the two compute stays zero for ever. With one of them random, the other learns in the first step.

    Wrong:
        self.down = nn.Parameter(torch.zeros(rank, fan_in))
        self.up = nn.Parameter(torch.zeros(fan_out, rank))
        return layer(x) + x @ self.down.T @ self.up.T

    Right:
        self.down = nn.Parameter(torch.randn(rank, fan_in) / rank)
        self.up = nn.Parameter(torch.zeros(fan_out, rank))

    Do instead: let one of the two factors begin at random values; that the other is zero keeps their product zero.

    How it is found: an optimizer holds both, and both were zero with a gradient of exactly zero in each step that was
    measured. In the recorded operators, every way from either of the two to a loss goes through a product with another
    that is zero. The line is the one that gave the first of the two its values; where that was
    not followed, the only one that had torch.nn.init set anything to zero.
    """
    products: dict[Site | None, list[ZeroFactors]] = defaultdict(list)
    for one in zero_factors(case):
        products[one.site].append(one)
    places: dict[Site | None, list[ZeroFactors]] = defaultdict(list)
    for product, pairs in products.items():
        places[first_values(case, pairs[0].first) or _zeroed_at(case) or product] += pairs
    for site, pairs in places.items():
        names = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.other)))
        others = dict.fromkeys(first_values(case, name) for name in names)
        related = [Related("declared_at", other, "another factor") for other in others if other and other != site]
        product = pairs[0].site
        related += [Related("called_at", product, "the product")] if product and product != site else []
        yield Cause(
            f"{several(names)} are zero and multiply each other: each gradient has another of them as a factor, and is "
            "zero for ever",
            site,
            tuple(related),
            tensor=pairs[0].first,
            weight=len(pairs),
        )


def _zeroed_at(case: Case) -> Site | None:
    """The one line that had torch.nn.init set something to zero, in all of the run: what was built late is not
    followed."""
    lines = {
        one.site
        for one in case.operators()
        if base_name(one.name) == "zero_" and any(site.file.endswith(_INIT) for site in one.stack)
    }
    return lines.pop() if len(lines) == 1 else None
