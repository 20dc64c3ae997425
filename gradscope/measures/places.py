"""By what a table can be grouped: every node belongs to one line, one module call, one kind of node, one parameter."""

from __future__ import annotations

from collections.abc import Callable

from gradscope.model.graph import Node
from gradscope.model.table import Unit

NOWHERE = "(no line of the user's)"
NO_MODULE = "(outside modules)"
NO_PARAMETER = "(no parameter)"
Place = Callable[[Node], str]


def line(node: Node) -> str:
    """The user's line. Adding into a leaf's .grad is work of its own, done for the line that first used the leaf."""
    where = NOWHERE if node.site is None else str(node.site)
    return f"{where} (accumulating)" if node.accumulates else where


def module(node: Node) -> str:
    """The module call in which the node was built."""
    return NO_MODULE if node.module is None else node.module.label


def op(node: Node) -> str:
    """The node's kind."""
    return node.short_name


def single(node: Node) -> str:
    """The node itself."""
    return f"{node.id} {op(node)}" + (f" {node.leaf}" if node.leaf else "")


def parameter(node: Node) -> str:
    """The parameter that the node adds a gradient into, or else keeps for its backward: that of a linear layer, say."""
    return node.leaf or next((tensor.leaf for tensor in node.saved if tensor.leaf is not None), NO_PARAMETER)


UNITS = {"line": Unit.PLACE, "module": Unit.TEXT, "node": Unit.TEXT, "op": Unit.TEXT, "param": Unit.TEXT}
PLACES: dict[str, Place] = {"line": line, "module": module, "node": single, "op": op, "param": parameter}
