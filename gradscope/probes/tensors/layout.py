"""Which bytes of its storage a tensor lies on, and whether two tensors have one in common.

The surprise: tensors of one storage need not share an element, and their bytes may lie between each other, as columns
do. Whether they meet is a sum of multiples of strides with bounds (numpy's `shares_memory` asks the same), which is
soon answered for strides as they occur; others are given up.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

import torch

from gradscope.signals import let_through

_STEPS = 500  # of the search, before it is given up
Layout = tuple[int, tuple[tuple[int, int], ...]]  # first byte; stride in bytes and last index of each dimension


def layout_of(tensor: torch.Tensor) -> Layout | None:
    """Where a tensor lies in its storage; None where that is not known, or where it has no element."""
    try:
        size, strides, shape = tensor.element_size(), tensor.stride(), tensor.shape
        first: int | torch.SymInt = tensor.storage_offset() * size
    except (RuntimeError, NotImplementedError) as error:  # sparse, nested, functorch wrappers
        let_through(error)
        return None
    if tensor.layout is not torch.strided or not all(type(one) is int and one > 0 for one in shape):
        return None
    if not isinstance(first, int) or not all(type(one) is int for one in strides):  # symbolic ones are not
        return None
    dimensions = ((stride * size, count - 1) for stride, count in zip(strides, shape, strict=True))
    return first, tuple(one for one in ((1, size - 1), *dimensions) if all(one))


@lru_cache(maxsize=4096)
def meet(one: Layout, other: Layout) -> bool:
    """Whether two layouts in a storage have a byte in common for sure; False also where the search is given up.

    Bytes first + sum(stride * index) are equal where the strides of both, with the indices of one counted from behind,
    add up to the distance of that one's last byte from the other's first.
    """
    distance = one[0] + sum(stride * last for stride, last in one[1]) - other[0]
    bounds: dict[int, int] = {}
    for stride, last in (*one[1], *other[1]):
        bounds[stride] = bounds.get(stride, 0) + last
    return _adds_up(distance, sorted(bounds.items(), reverse=True))


def _adds_up(distance: int, terms: list[tuple[int, int]]) -> bool:
    """Whether multiples of some numbers, each up to its bound and the largest number first, add up to a distance."""
    most, divisors = [0], [0]
    for stride, last in reversed(terms):
        most.insert(0, most[0] + stride * last)
        divisors.insert(0, gcd(divisors[0], stride))
    waiting, steps = [(distance, 0)], 0
    while waiting and steps < _STEPS:
        steps += 1
        left, at = waiting.pop()
        if not 0 <= left <= most[at] or (divisors[at] and left % divisors[at]):
            continue
        if at == len(terms) or left in (0, most[at]):
            return True
        stride, last = terms[at]
        low = max(0, -((most[at + 1] - left) // stride))
        waiting += [
            (left - stride * count, at + 1) for count in range(low, min(last, left // stride, low + _STEPS) + 1)
        ]
    return False
