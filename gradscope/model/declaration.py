"""What a project's configuration says of some of its Functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declaration:
    """Of the Functions whose dotted name matches `pattern`: their inputs (a spec, or pkg.mod:factory), their level,
    what is meant by their gradient, and what is not to be told. `ignore` are pairs of a code and the reason; `skip` is
    the reason not to check them at all. None and "" say nothing.
    """

    pattern: str
    inputs: str = ""
    level: str = ""
    custom_gradient: bool | None = None
    once_differentiable: bool | None = None
    symmetric: tuple[int, ...] = ()
    tolerance: float | None = None
    ignore: tuple[tuple[str, str], ...] = ()
    skip: str = ""
