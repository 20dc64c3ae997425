"""Backward calls in bulk: a run makes thousands that differ only in their number."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Site


@dataclass(frozen=True, slots=True)
class Calls:
    """Backward calls that are alike: numbers `first` to `last`, of which `count` are of this kind.

    `nodes`, `edges` and `saved_bytes` are those of one call, `seconds` the sum over the calls that finished,
    and `graph` is None when nothing could be walked.
    """

    first: int
    last: int
    count: int
    kind: str
    graph: int | None
    nodes: int
    edges: int
    saved_bytes: int
    seconds: float
    site: Site | None = None
    exception: str | None = None
    nested: bool = False
    create_graph: bool = False
