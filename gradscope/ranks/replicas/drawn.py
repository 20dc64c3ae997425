"""Buffers that each rank drew at random for itself, where it registers them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.source.deciding import draws, origin
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_REGISTERS = "register_buffer"
_OF_ITS_OWN = "generator"  # an argument: what draws by it is seeded for itself


def drawn(recording: Recording, buffers: Iterable[str]) -> dict[str, Site]:
    """Of some buffers: the line that registers each, of those that torch's own random numbers are put into there; the
    only one that registers one of this name."""
    sites = list(_registered(recording))
    found: dict[str, Site] = {}
    for buffer in buffers:
        name = unwrapped(buffer).rpartition(".")[2]
        ours = [(frame, call) for frame, call in sites if _text(_argument(call, 0, "name")) == name]
        value = _argument(ours[0][1], 1, "tensor") if len(ours) == 1 else None
        if value is not None and origin(recording, [ours[0][0]], value, _draws_for_itself) is not None:
            found[buffer] = ours[0][0].site
    return found


def _registered(recording: Recording) -> Iterator[tuple[Frame, ast.Call]]:
    """The calls that register a buffer, in their functions."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1, ""))
        for node in nodes_of(tree):
            if isinstance(node, ast.Call) and called_name(node) == _REGISTERS:
                function = function_around(tree, node.lineno)
                if function is not None:
                    site = at_line(recording, Site(file, node.lineno, function.name), node.lineno)
                    yield Frame(site, tree, function), node


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    by_name = next((one.value for one in call.keywords if one.arg == name), None)
    return by_name or (call.args[place] if place < len(call.args) else None)


def _text(value: ast.expr | None) -> str | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _draws_for_itself(value: ast.expr) -> bool:
    """Whether it draws, and not by a generator of its own, which may be seeded alike, or otherwise on purpose."""
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    return draws(value) and not any(one.arg == _OF_ITS_OWN for call in calls for one in call.keywords)
