"""Whether a block of operators is worth a look: it has operators, or an order of them, that were not there before.

The surprise: blocks differ from step to step by where memory lies, which is none. A program that never repeats is not
looked at for ever; what runs on a new line is, longer than what merely comes in another order.
"""

from __future__ import annotations

from gradscope.probes.operators.blocks import operators_of

_MOST_OPERATORS, _MOST_ORDERS = 16, 16  # looks


class News:
    """What the blocks of a run have been."""

    def __init__(self) -> None:
        self._operators: set[tuple[int, int]] = set()  # with their stacks
        self._orders: set[int] = set()
        self._looks = [_MOST_OPERATORS, _MOST_ORDERS]
        self.latest: frozenset[tuple[int, int]] = frozenset()  # the new operators of the block before

    def note(self, numbers: list[int]) -> None:
        """A block is seen anyway."""
        self._compare(numbers)

    def take(self, numbers: list[int]) -> bool:
        """Whether a block is to be followed by a look, one of those that are left."""
        kind = self._compare(numbers)
        if kind is None or not self._looks[kind]:
            return False
        self._looks[kind] -= 1
        return True

    def _compare(self, numbers: list[int]) -> int | None:
        """0 for new operators, 1 for a new order of them, None for nothing new.

        Orders are remembered while one of them may still be looked at: there may be as many as steps.
        """
        block = [(one.name, one.stack) for one in operators_of(numbers)]
        self.latest, known = frozenset(block) - self._operators, True
        self._operators |= self.latest
        if self._looks[1]:
            order = hash(tuple(block))
            known = order in self._orders
            self._orders.add(order)
        if self.latest:
            return 0
        return None if known else 1
