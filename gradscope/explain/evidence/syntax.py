"""Reads the user's source for what is not an operator and therefore leaves no other trace.

Examples are switching the gradient mode, `zero_grad()`, `requires_grad_()`, `.item()` and `list.append`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gradscope.functions.source import last_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.store.facts import Facts, kept

_MODES = ("no_grad", "inference_mode")
_SWITCHES = ("set_grad_enabled", "_set_grad_enabled", "set_grad_mode")


@dataclass(frozen=True, slots=True)
class Mode:
    """A place that switches gradients off. `block` tells a `with` or a decorator from a switch that stays."""

    site: Site
    block: bool


class Syntax:
    """The user's files by name, parsed when they are asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._trees: dict[str, ast.Module | None] = {}

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The user's files."""
        return tuple(self._texts)

    def tree(self, file: str) -> ast.Module | None:
        """A file's syntax, None when the recording does not have it."""
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse(self._texts.get(file, ""))
            except (SyntaxError, ValueError, RecursionError):
                self._trees[file] = None
        return self._trees[file]

    def site(self, file: str, line: int, function: str = "") -> Site:
        """A line of a file, with its text."""
        lines = self._texts.get(file, "").splitlines()
        text = lines[line - 1].strip() if 0 < line <= len(lines) else None
        return Site(file, line, function or self._function(file, line), text)

    def calls(self, file: str, wanted: Callable[[ast.AST], bool]) -> Iterator[Site]:
        """The lines of a file with a matching expression or statement; of a method's call, the line of its name."""
        for node in ast.walk(self.tree(file) or ast.Module([], [])):
            if wanted(node):
                yield self.site(file, _line(node))

    def everywhere(self, wanted: Callable[[ast.AST], bool]) -> Iterator[Site]:
        """The same lines of all files."""
        for file in self.files:
            yield from self.calls(file, wanted)

    def matching(self, wanted: Callable[[str], bool]) -> Iterator[Site]:
        """The lines of all files whose code, without spaces and comments, is as wanted."""
        for file in self.files:
            for number, text in enumerate(self._texts.get(file, "").splitlines(), 1):
                if wanted(text.replace(" ", "").partition("#")[0]):
                    yield self.site(file, number)

    def statement(self, site: Site) -> ast.stmt | None:
        """The innermost statement at a line, where of a compound one only the head counts."""
        found = None
        for node in ast.walk(self.tree(site.file) or ast.Module([], [])):
            if isinstance(node, ast.stmt) and node.lineno <= site.line <= _end(node):
                found = node
        return found

    def function(self, site: Site) -> ast.AST | None:
        """The innermost function around a line; the module when there is none."""
        tree = self.tree(site.file)
        found: ast.AST | None = tree
        for node in ast.walk(tree or ast.Module([], [])):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _spans(node, site.line):
                found = node
        return found

    def _function(self, file: str, line: int) -> str:
        around = self.function(Site(file, line))
        return getattr(around, "name", "<module>")

    def switch(self, stack: Stack) -> Mode | None:
        """What switched gradients off around a stack: a `with` or decorator around it, or a call that stays."""
        frames = [site for site in stack if site.origin is Origin.USER]
        for site in frames:
            line = self._enclosing(site)
            if line is not None:
                return Mode(self.site(site.file, line), True)
        order = [site.file for site in frames]
        switches = [
            site for file in dict.fromkeys([*order, *self.files]) for site in self.calls(file, self._switcher(file))
        ]
        return Mode(switches[0], False) if switches else None

    def _switcher(self, file: str) -> Callable[[ast.AST], bool]:
        """Matches what leaves gradients off; `guard.__enter__()` where the file makes such a guard."""
        guards = any(_names_mode(node) for node in ast.walk(self.tree(file) or ast.Module([], [])))
        entered = attribute_call("__enter__")
        return lambda node: _switches_off(node) or (guards and entered(node))

    def _enclosing(self, site: Site) -> int | None:
        found = None
        for node in ast.walk(self.tree(site.file) or ast.Module([], [])):
            if isinstance(node, (ast.With, ast.AsyncWith)) and _spans(node, site.line):
                for item in node.items:
                    if _names_mode(item.context_expr):
                        found = node.lineno
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _spans(node, site.line):
                for decorator in node.decorator_list:
                    if _names_mode(decorator) and site.line >= node.body[0].lineno:
                        found = decorator.lineno
        return found


@kept
def syntax(facts: Facts) -> Syntax:
    """The syntax of the user's files."""
    return Syntax(facts.sources())


def attribute_call(*names: str) -> Callable[[ast.AST], bool]:
    """Matches calls of a method: `anything.name(...)`."""

    def wanted(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names

    return wanted


def _names_mode(node: ast.AST) -> bool:
    """`torch.no_grad()`, `no_grad`, `inference_mode()`, `set_grad_enabled(...)` unless it says True."""
    if not isinstance(node, ast.Call):
        return last_name(node) in _MODES
    name = last_name(node.func)
    first = node.args[0] if node.args else None
    on = isinstance(first, ast.Constant) and first.value is True
    return (name in _MODES and not (isinstance(first, ast.Constant) and first.value is False)) or (
        name in _SWITCHES and not on
    )


def _switches_off(node: ast.AST) -> bool:
    """A call that leaves gradients off: `set_grad_enabled(False)` or `no_grad().__enter__()`."""
    if not isinstance(node, ast.Call):
        return False
    if last_name(node.func) in _SWITCHES:
        return _names_mode(node)
    entered = node.func
    return (
        isinstance(entered, ast.Attribute)
        and entered.attr in ("__enter__", "enter_context")
        and (_names_mode(entered.value) or any(map(_names_mode, node.args)))
    )


def _line(node: ast.AST) -> int:
    """The line of a method's own name: in a chain over several lines, its call begins further up."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.end_lineno or node.lineno
    return getattr(node, "lineno", 1)


def _end(node: ast.stmt) -> int:
    """The last line of a statement; of a compound one, of its head."""
    body = getattr(node, "body", None)
    return body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno


def _spans(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
