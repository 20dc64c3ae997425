"""What came of running a recorded backward again."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class NodeStatus(enum.Enum):
    """Of a node: every result is the recorded one to the bit; one is another; or it could not be repeated."""

    EQUAL = "equal"
    DIFFERS = "differs"
    NOT_REPEATED = "not-repeated"


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What a node gave. `operator` is the first of its operators to which `detail` applies, None for the node's whole.

    `again` is, of the first node that differs, whether a second execution gave the same as the first.
    """

    node: int
    status: NodeStatus
    operator: str | None = None
    detail: str = ""
    again: bool | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution: an outcome for each node in the order in which they ran; `recorded_order` says whose order."""

    backward: int
    outcomes: tuple[NodeOutcome, ...]
    recorded_order: bool
    torch: str
    threads: int

    @property
    def first(self) -> NodeOutcome | None:
        """The first node that differs; those after it may differ because of it."""
        return next((one for one in self.outcomes if one.status is NodeStatus.DIFFERS), None)

    def count(self, status: NodeStatus) -> int:
        """How many nodes ended so."""
        return sum(one.status is status for one in self.outcomes)
