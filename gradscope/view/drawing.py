"""A picture before it has a format: boxes, arrows and clusters with roles, no colours."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.view.role import Role

UNMEASURED = -1.0  # the place on a scale of a box of which nothing was measured


@dataclass(frozen=True, slots=True)
class Row:
    """A line in a box that stands for something of its own: a parameter, a saved tensor, a hook, a finding."""

    text: str
    role: Role


@dataclass(frozen=True, slots=True)
class Box:
    """A node, a closed group, or several of either. `cluster` is the number of the open group around it.

    Under the title stand `notes`, which are only words, and then `rows`. `heat` is its place on the drawing's scale,
    from 0 to 1 or UNMEASURED; None where the drawing has none.
    """

    title: str
    notes: tuple[str, ...]
    roles: frozenset[Role]
    cluster: int | None = None
    rows: tuple[Row, ...] = ()
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """What the colours of boxes mean: a quantity, and the values at both ends; without these only words."""

    words: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """Gradients go from box `tail` to box `head`, along `count` edges of the graph; PRUNED when none went."""

    tail: int
    head: int
    count: int = 1
    roles: frozenset[Role] = frozenset()


@dataclass(frozen=True, slots=True)
class Cluster:
    """An open group; `around` is the number of the one around it, which always comes before it."""

    title: str
    around: int | None = None
    roles: frozenset[Role] = frozenset()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and clusters are known by their places in these tuples. `captions` stand below the title."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    clusters: tuple[Cluster, ...] = ()
    captions: tuple[str, ...] = ()
    scale: Scale | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that appear, in the order of the enumeration, for a legend."""
        found = {role for box in self.boxes for role in (*box.roles, *(row.role for row in box.rows))}
        found.update(role for arrow in self.arrows for role in arrow.roles)
        found.update(role for cluster in self.clusters for role in cluster.roles)
        return tuple(role for role in Role if role in found)
