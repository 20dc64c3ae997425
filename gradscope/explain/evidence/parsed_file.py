"""One of the user's files, parsed and looked through once: what has many thousand lines is asked for them often."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cached_property

from gradscope.functions.source import last_name, parsed

_MODES = ("no_grad", "inference_mode")
SWITCHES = ("set_grad_enabled", "_set_grad_enabled", "set_grad_mode")


class ParsedFile:
    """A file's text, its syntax, and what stands around each of its lines."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def tree(self) -> ast.Module | None:
        """None when it is not Python of this version."""
        return parsed(self._text)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines, the first one at 0."""
        return tuple(self._text.splitlines())

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes, breadth first: what comes later is further in."""
        return () if self.tree is None else tuple(ast.walk(self.tree))

    @cached_property
    def beginning(self) -> dict[int, list[ast.AST]]:
        """The nodes by the line at which they begin."""
        found: dict[int, list[ast.AST]] = defaultdict(list)
        for node in self.nodes:
            if hasattr(node, "lineno"):
                found[node.lineno].append(node)
        return dict(found)

    @cached_property
    def statements(self) -> dict[int, ast.stmt]:
        """The innermost statement at each line, where of a compound one only the head counts."""
        found = (node for node in self.nodes if isinstance(node, ast.stmt))
        return {line: node for node in found for line in range(node.lineno, _end_of_head(node) + 1)}

    @cached_property
    def whole_statements(self) -> dict[int, ast.stmt]:
        """The innermost statement around each line."""
        found = (node for node in self.nodes if isinstance(node, ast.stmt))
        return {line: node for node in found for line in _lines(node)}

    @cached_property
    def functions(self) -> dict[int, ast.AST]:
        """The innermost function around each line that is in one."""
        found = (node for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        return {line: node for node in found for line in _lines(node)}

    @cached_property
    def names_mode(self) -> bool:
        """Whether a mode without gradients is named anywhere."""
        return any(map(names_mode, self.nodes))

    @cached_property
    def modes(self) -> dict[int, int]:
        """For each line under a mode without gradients, the line of the `with` or the decorator that switched to it."""
        found: dict[int, int] = {}
        for node in self.nodes:
            if isinstance(node, (ast.With, ast.AsyncWith)):
                if any(names_mode(item.context_expr) for item in node.items):
                    found.update(dict.fromkeys(_lines(node), node.lineno))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in filter(names_mode, node.decorator_list):
                    body = range(node.body[0].lineno, _lines(node).stop)
                    found.update(dict.fromkeys(body, decorator.lineno))
        return found


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _end_of_head(node: ast.stmt) -> int:
    """The last line of a statement; of a compound one, of its head."""
    body = getattr(node, "body", None)
    return body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno


def names_mode(node: ast.AST) -> bool:
    """`torch.no_grad()`, `no_grad`, `inference_mode()`, `set_grad_enabled(...)` unless it says True."""
    if not isinstance(node, ast.Call):
        return last_name(node) in _MODES
    name = last_name(node.func)
    first = node.args[0] if node.args else None
    on = isinstance(first, ast.Constant) and first.value is True
    return (name in _MODES and not (isinstance(first, ast.Constant) and first.value is False)) or (
        name in SWITCHES and not on
    )
