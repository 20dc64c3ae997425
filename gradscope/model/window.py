"""Which steps of a run are recorded. A step ends with an outermost backward call; steps count from 0."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Steps from `first` to before `end` (None: to the last), and of those only the last `keep` (None: all)."""

    first: int = 0
    end: int | None = None
    keep: int | None = None

    def has(self, step: int) -> bool:
        """Whether a step is to be recorded."""
        return step >= self.first and (self.end is None or step < self.end)

    @classmethod
    def parse(cls, steps: str | None, keep: int | None = None) -> Window:
        """Read `A:B`, `A:`, `:B` or a single step `A`. Raises ValueError with a sentence."""
        if steps is None:
            return cls(keep=keep)
        first, colon, end = (part.strip() for part in steps.partition(":"))
        numbers = [part for part in (first, end) if part]
        if not numbers or not all(part.isascii() and part.isdigit() for part in numbers):
            raise ValueError(f"{steps!r} is not A:B, A: or :B, with steps counted from 0")
        start = int(first or 0)
        window = cls(start, start + 1 if not colon else int(end) if end else None, keep)
        if window.end is not None and window.end <= window.first:
            raise ValueError(f"{steps!r} has no step in it")
        return window
