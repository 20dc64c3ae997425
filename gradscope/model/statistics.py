"""What `--detail full` measures of each node in each backward."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeRun:
    """The engine ran a node: times are seconds, `started` from the backward's start. `position` is the order."""

    node: int
    position: int
    thread: int
    started: float
    duration: float


@dataclass(frozen=True, slots=True)
class GradientStatistics:
    """Of one gradient: 2-norm, largest magnitude and zero share over the finite values, and the rest counted.

    `side` is "in" (what the node received) or "out" (what it passed on); `index` its place there.
    """

    node: int
    side: str
    index: int
    norm: float
    max: float
    zero_share: float
    nan: int
    inf: int

    @property
    def of_nothing(self) -> bool:
        """Whether no value is finite, so that the zeros measured are those of no value."""
        return bool(self.nan or self.inf) and not (self.norm or self.max or self.zero_share)

    @property
    def norm_words(self) -> str:
        """`gradient's norm 0.12`, and what is not in it."""
        bad = _counted(self.nan, self.inf)
        norm = f"gradient's norm {self.norm:.3g}" + " among finite values" * bool(bad)
        return ", ".join(["gradient has no finite value" if self.of_nothing else norm, *bad])


def _counted(nan: int, inf: int) -> list[str]:
    return [f"{count:,} {name}" for count, name in ((nan, "NaN"), (inf, "Inf")) if count]


def statistics_words(norm: float, most: float, zeros: float, word: str, nan: int, inf: int, digits: int = 4) -> str:
    """A gradient's statistics for people: norm, maximum and zeros are those of its finite values, if it has any."""
    bad = _counted(nan, inf)
    sizes = f"norm {norm:.{digits}g}, max {most:.{digits}g}, {zeros:.{1 if digits > 4 else 0}%} {word}"
    if not bad:
        return sizes
    return ", ".join(["no finite value" if not (norm or most or zeros) else f"{sizes} among finite values", *bad])
