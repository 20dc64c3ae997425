"""How large a leaf and its gradient were after a backward."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeafSize:
    """The norms of a leaf's gradient and of the leaf, the share of the gradient that is exactly zero, its elements."""

    backward: int
    leaf: str
    gradient: float
    weight: float
    zero_share: float
    count: int

    @property
    def typical(self) -> float:
        """The root mean square of the gradient's elements."""
        return self.gradient / math.sqrt(self.count)
