"""Finds the nodes that a pattern means: `*Softmax*`, `blocks.3`, `*.bias`, `train.py:19`."""

from __future__ import annotations

import re
from fnmatch import translate
from pathlib import PurePath

from gradscope.errors import UsageError
from gradscope.model.graph import Graph, Node
from gradscope.model.printable import printable


def match(graph: Graph, pattern: str) -> frozenset[int]:
    """The ids of the nodes whose name, operator, module call, leaf, custom Function or FILE:LINE the pattern matches.

    `*` stands for anything, case does not matter. Raises UsageError when nothing matches.
    """
    matches = re.compile(translate(pattern.strip()), re.IGNORECASE).match
    known: dict[str, bool] = {}  # graphs have many nodes and few names

    def fits(name: str) -> bool:
        if name not in known:
            known[name] = matches(name) is not None
        return known[name]

    found = frozenset(node.id for node in graph.nodes if any(fits(name) for name in _names(node)))
    if not found:
        hint = "* stands for anything: '*Softmax*', 'blocks.3.*', '*.bias', 'train.py:19'"
        raise UsageError(f"no node of this backward matches {printable(pattern)!r}", hint)
    return found


def _names(node: Node) -> list[str]:
    site, call, function = node.site, node.module, node.function
    names = [node.name.rpartition("::")[2], node.op, node.leaf, function.name if function else None]
    if call is not None:
        names += [call.label, call.module_class]
    if site is not None:
        names += [f"{site.file}:{site.line}", f"{PurePath(site.file).name}:{site.line}"]
    return [name for name in names if name]
