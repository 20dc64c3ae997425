"""A graph made small enough to look at: pieces that each get a box, frames around them, links between them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradscope.model.graph import Node
from gradscope.model.group import Group, Repeat


class PieceKind(enum.Enum):
    """What a piece stands for."""

    NODE = "a node"
    GROUP = "a closed module call"
    REPEAT = "rounds that are like the one before"
    CHAIN = "nodes in a row that nothing branches from"
    ALIKE = "nodes of one kind with hooks, a custom Function or several users, together because there are too many"
    CROWD = "neighbours in backward order, together because there are too many"


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """What one box stands for.

    `nodes` are in backward order and leave out what is folded into them: `leaves`, the nodes that add into
    parameters' .grad, and `views`, nodes that only pass a gradient on in another shape. `group` and `repeat` are set
    for pieces of those kinds. `frame` is the number of the open group around. `chips` are parameters
    that so many use that no arrows lead to them. `sums` is how many gradients the engine
    adds before a single node runs, 1 for nearly all. `members` counts pieces that became one. `calls` are the module
    calls, outermost first, in which the piece stands alone, so that they need no frame.
    """

    kind: PieceKind
    nodes: tuple[Node, ...]
    frame: int | None = None
    group: Group | None = None
    repeat: Repeat | None = None
    leaves: tuple[Node, ...] = ()
    views: tuple[Node, ...] = ()
    chips: tuple[Node, ...] = ()
    sums: int = 1
    members: int = 1
    calls: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An open group; `around` is the number of the one around it, which always comes before it.

    `outer` are the groups around it, outermost first, in which it stands alone, so that they need no frame.
    """

    group: Group
    around: int | None = None
    outer: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """Gradients go from piece `tail` to piece `head` along `count` edges; `pruned` when along none of them one went."""

    tail: int
    head: int
    count: int = 1
    pruned: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """How many nodes do not have a box of their own, and why.

    `parameters` are rows of the nodes that use them, `views` part of a neighbour, `closed` inside a module call that
    is closed, `repeated` like what is drawn, `joined` in a chain or a crowd, `hidden` parameters that were not wanted,
    `chips` parameters that are a word in each of their many users,
    `outside` further from the focus than was asked.
    """

    parameters: int = 0
    views: int = 0
    closed: int = 0
    repeated: int = 0
    joined: int = 0
    hidden: int = 0
    chips: int = 0
    outside: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Pieces, frames, the links between pieces, and how much was folded."""

    pieces: tuple[Piece, ...]
    frames: tuple[Frame, ...]
    links: tuple[Link, ...]
    folded: Folded
