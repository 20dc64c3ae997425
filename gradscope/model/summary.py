"""Backward calls in bulk: a run makes thousands that differ only in their number."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Site


@dataclass(frozen=True, slots=True)
class Calls:
    """Backward calls that are alike: numbers `first` to `last`, of which `count` are of this kind.

    `graphs` is how many distinct graphs they reached, 0 when none could be walked. `nodes`, `edges` and `saved_bytes`
    are the least and the most of one call, so that growth shows; `seconds` is the sum over the calls that finished.
    """

    first: int
    last: int
    count: int
    kind: str
    graphs: int
    nodes: tuple[int, int]
    edges: tuple[int, int]
    saved_bytes: tuple[int, int]
    seconds: float
    site: Site | None = None
    exception: str | None = None
    nested: bool = False
    create_graph: bool = False
