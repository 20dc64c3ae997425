"""torch.func transforms: one that ran, and what escaped from it."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class Transform(Located):
    """One distinct transform, that is a push of a level from one place: `calls` is how often it happened.

    `kind` is Grad, Vmap, Jvp or Functionalize, `outer` the number of the transform around it (None for none), `level`
    torch's number of it, from 1. `batch_size` and `randomness` ("error", "same", "different") are those of a vmap.
    """

    number: int
    kind: str
    level: int
    stack: Stack = ()
    outer: int | None = None
    batch_size: int | None = None
    randomness: str | None = None
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Escaped(Located):
    """A tensor that outlived its transform: kept as `name`, made at `stack` (empty when it is not known).

    `holder` is the attribute, variable or key by which the program's code puts it there, where that is known.
    """

    transform: int
    name: str
    stack: Stack = ()
    holder: str | None = None
