"""How two runs were made: arguments, versions, environment, torch's switches. None of it counts as a difference."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model.comparison import Circumstance
from gradscope.model.run import Run

UNSET = "not set"
_FIELDS = ("torch", "python", "platform", "gradscope", "detail", "cwd", "rank", "world_size")


def differing(first: Run, second: Run) -> Iterator[Circumstance]:
    """What is not the same."""
    if first.argv != second.argv:
        yield Circumstance("arguments", " ".join(first.argv), " ".join(second.argv))
    for name in _FIELDS:
        one, other = getattr(first, name), getattr(second, name)
        if one != other:
            yield Circumstance(name.replace("_", " "), _shown(one), _shown(other))
    yield from _of("environment", first.environment, second.environment)
    if first.switches and second.switches:
        yield from _of("switch", first.switches, second.switches)


def _of(kind: str, first: dict[str, str], second: dict[str, str]) -> Iterator[Circumstance]:
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            yield Circumstance(f"{kind} {name}", first.get(name, UNSET), second.get(name, UNSET))


def _shown(value: object) -> str:
    return UNSET if value is None else str(value)
