"""What is known of a number that is computed from parts of gradients: a norm, its square, or what ranks have made of
their norms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradscope.model.site import Site

NORMS = frozenset(("linalg_vector_norm", "_foreach_norm", "norm"))
_DOTS = frozenset(("dot", "vdot"))
_SQUARES = frozenset(("pow", "square", "mul", "_foreach_pow", "_foreach_mul"))
_PRODUCTS = frozenset(("mul", "_foreach_mul"))  # of a gradient with itself: else it is scaled
_ROOTS = frozenset(("sqrt", "pow"))
_PASSES = frozenset(
    (
        *("stack", "cat", "view", "detach", "clone", "_to_copy", "unsqueeze", "squeeze", "expand", "alias", "copy"),
        *("select", "unbind", "_unsafe_view", "reshape", "slice", "split"),
    )
)
_ADDS = frozenset(("sum", "add"))
_MERGES = frozenset(("max", "amax", "mean", "sum"))  # of norms: none of these is that of all
_MERGES_TWO = frozenset(("maximum", "max", "add"))  # else a number is added to each


@dataclass(frozen=True, slots=True)
class NormValue:
    """Of which memory it is a norm, or (not `is_root`) the square of one, and the lines that took norms. `gathered`:
    the norms of ranks, one beside the other; `merged`: the line that made of them what is no norm of all."""

    of: frozenset[int]
    is_root: bool
    sites: frozenset[Site]
    gathered: bool = False
    merged: Site | None = None

    def met(self, *, gathered: bool, site: Site | None) -> NormValue:
        """What ranks have when they have met for it: all norms, or what was made of them at once."""
        return replace(self, gathered=gathered, merged=None if gathered else site)


def measured(name: str, of: frozenset[int], reads: int, site: Site | None) -> NormValue | None:
    """What an operator makes of gradients alone."""
    sites = frozenset([site] if site is not None and name in NORMS else [])
    if name in NORMS:
        return NormValue(of, is_root=True, sites=sites)
    is_product = name in _PRODUCTS
    is_of_one = len(of) == 1 or (reads == 1 and not is_product)  # several parts may be joined in one tensor
    is_square = name in _DOTS or (name in _SQUARES and is_of_one and (not is_product or reads > 1))
    return NormValue(of, is_root=False, sites=sites) if is_square else None


def computed(name: str, known: list[NormValue], is_all: bool, site: Site | None) -> NormValue | None:
    """What an operator makes of such numbers; `is_all`: it read nothing else."""
    merged = next((one for one in known if one.merged is not None), None)
    if merged is not None:
        return merged
    kinds = {(one.is_root, one.gathered) for one in known}
    if len(kinds) != 1 or not is_all:
        return None
    is_root, gathered = kinds.pop()
    whole = NormValue(
        frozenset[int]().union(*(one.of for one in known)),
        is_root,
        frozenset[Site]().union(*(one.sites for one in known)),
        gathered,
    )
    plain = name.removesuffix("_")
    if gathered:
        return _of_all(plain, whole, len(known), site)
    return whole if plain in _PASSES else _of_own(plain, whole, site)


def _of_all(name: str, value: NormValue, reads: int, site: Site | None) -> NormValue | None:
    """What an operator makes of the norms of ranks."""
    if name in (_MERGES if reads == 1 else _MERGES_TWO):
        return replace(value, gathered=False, merged=site)
    is_passed = name in _PASSES or (reads == 1 and name in _MERGES_TWO)
    return value if is_passed else None


def _of_own(name: str, value: NormValue, site: Site | None) -> NormValue | None:
    """What an operator makes of numbers in which no other rank has had a part."""
    if value.is_root and name in NORMS:
        return replace(value, sites=value.sites | ({site} if site is not None else set()))
    if value.is_root and name in _SQUARES:
        return replace(value, is_root=False)
    if not value.is_root and name in _ADDS:
        return value
    return replace(value, is_root=True) if not value.is_root and name in _ROOTS else None
