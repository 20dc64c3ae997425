"""Finds the node that a user means: by number, by place in the order, by name, by leaf, by line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from gradscope.errors import UsageError
from gradscope.model.graph import Graph, Node
from gradscope.model.printable import printable

MOST = 6  # nodes named in a hint


def find(graph: Graph, text: str, places: Mapping[int, int]) -> tuple[Node, ...]:
    """Every node that `text` can mean, in the order of the backward: `#12` its place, `17` its id, `AddmmBackward0`,
    `addmm`, a leaf's name, or FILE:LINE. `places` gives the place of each node that runs.
    """
    wanted = text.strip()
    number = wanted.removeprefix("#")
    if number.isascii() and number.isdigit():
        place = int(number[:18])
        return tuple(node for node in graph.nodes if (places.get(node.id) if wanted != number else node.id) == place)
    matching = (
        [node for node in graph.nodes if node.leaf == wanted]
        or [node for node in graph.nodes if _stands_at(node, wanted)]
        or [node for node in graph.nodes if wanted in (node.name, _short(node))]
        or [node for node in graph.nodes if wanted and _short(node).lower().startswith(wanted.lower())]
        or [node for node in graph.nodes if wanted and wanted.lower() in _short(node).lower()]
    )
    return tuple(sorted(matching, key=lambda node: places.get(node.id, len(graph.nodes))))


def find_one(graph: Graph, text: str, places: Mapping[int, int]) -> Node:
    """The one node that `text` means. Raises UsageError when there is none or more than one."""
    found = find(graph, text, places)
    if len(found) == 1:
        return found[0]
    shown = printable(text)
    if not found:
        raise UsageError(f"no node of this backward is {shown!r}", "name one by #place, id, name, leaf or FILE:LINE")
    some = ", ".join(f"{_short(node)} is {node.id}" for node in found[:MOST]) + (" ..." if len(found) > MOST else "")
    raise UsageError(f"{len(found)} nodes are {shown!r}", f"say which by its id: {printable(some)}")


def _short(node: Node) -> str:
    return node.short_name


def _stands_at(node: Node, text: str) -> bool:
    file, colon, line = text.rpartition(":")
    if not colon or node.site is None or str(node.site.line) != line:
        return False
    return node.site.file == file or PurePath(node.site.file).name == file
