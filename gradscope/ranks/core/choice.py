"""What two runs are to be compared in."""

from __future__ import annotations

from dataclasses import dataclass

IGNORABLE = {
    "seed": "values: weights, losses, gradients, learning rates",
    "dtype": "dtypes, and the operators and nodes that only convert them",
    "names": "names of parameters and modules",
    "lines": "lines: code that only moved",
}

PROFILER = "profiler."  # marks around calls, no computation
CONVERSIONS = frozenset({"aten._to_copy.default", "aten.to.dtype", "ToCopyBackward0", "ToCopyBackward"})


@dataclass(frozen=True, slots=True)
class Ignored:
    """What is not compared."""

    seed: bool = False
    dtype: bool = False
    names: bool = False
    lines: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The names of what is ignored."""
        return tuple(name for name in IGNORABLE if getattr(self, name))
