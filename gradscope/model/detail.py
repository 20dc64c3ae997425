"""How much is recorded."""

from __future__ import annotations

import enum


class Detail(str, enum.Enum):
    """How much to record: nodes, hooks and backward calls; operators as well; times and gradient statistics as well."""

    NODES = "nodes"
    OPS = "ops"
    FULL = "full"

    def has(self, other: Detail) -> bool:
        """Whether what the other records is recorded, too."""
        order = list(Detail)
        return order.index(self) >= order.index(other)
