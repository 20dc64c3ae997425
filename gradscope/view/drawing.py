"""A picture before it has a format: boxes, arrows and clusters with roles, no colours."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.view.role import Role


@dataclass(frozen=True, slots=True)
class Box:
    """A node, a closed group, or several of either. `cluster` is the number of the open group around it."""

    title: str
    notes: tuple[str, ...]
    roles: frozenset[Role]
    cluster: int | None = None


@dataclass(frozen=True, slots=True)
class Arrow:
    """Gradients go from box `tail` to box `head`, along `count` edges of the graph."""

    tail: int
    head: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Cluster:
    """An open group; `around` is the number of the one around it, which always comes before it."""

    title: str
    around: int | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and clusters are known by their places in these tuples."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    clusters: tuple[Cluster, ...] = ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that appear, in the order of the enumeration, for a legend."""
        return tuple(role for role in Role if any(role in box.roles for box in self.boxes))
