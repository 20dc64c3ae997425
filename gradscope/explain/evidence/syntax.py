"""Reads the user's source for what is not an operator and therefore leaves no other trace.

Examples are switching the gradient mode, `zero_grad()`, `requires_grad_()`, `.item()` and `list.append`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gradscope.explain.evidence.parsed_file import SWITCHES, ParsedFile, names_mode
from gradscope.functions.source import last_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.store.asked import kept
from gradscope.store.facts import Facts


@dataclass(frozen=True, slots=True)
class Mode:
    """A place that switches gradients off. `block` tells a `with` or a decorator from a switch that stays."""

    site: Site
    block: bool


class Syntax:
    """The user's files by name: each is parsed, split and looked through once, when it is asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._files: dict[str, ParsedFile] = {}

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The user's files."""
        return tuple(self._texts)

    @cached_property
    def functions(self) -> tuple[tuple[str, ast.FunctionDef], ...]:
        """All functions of the program, each with its file."""
        return tuple((file, one) for file in self.files for one in self.nodes(file) if isinstance(one, ast.FunctionDef))

    def parsed(self, file: str) -> ParsedFile:
        """A file's syntax and lines; without any where the recording does not have it."""
        if file not in self._files:
            self._files[file] = ParsedFile(self._texts.get(file, ""))
        return self._files[file]

    def tree(self, file: str) -> ast.Module | None:
        """A file's syntax, None when it cannot be read."""
        return self.parsed(file).tree

    def nodes(self, file: str) -> tuple[ast.AST, ...]:
        """All nodes of a file, breadth first: what comes later is further in."""
        return self.parsed(file).nodes

    def line(self, file: str, number: int) -> str | None:
        """A line as it stands in its file."""
        lines = self.parsed(file).lines
        return lines[number - 1] if 0 < number <= len(lines) else None

    def site(self, file: str, line: int, function: str = "") -> Site:
        """A line of a file, with its text."""
        text = self.line(file, line)
        return Site(file, line, function or self._function(file, line), None if text is None else text.strip())

    def calls(self, file: str, wanted: Callable[[ast.AST], bool]) -> Iterator[Site]:
        """The lines of a file with a matching expression or statement; of a method's call, the line of its name."""
        for node in self.nodes(file):
            if wanted(node):
                yield self.site(file, _line(node))

    def everywhere(self, wanted: Callable[[ast.AST], bool]) -> Iterator[Site]:
        """The same lines of all files."""
        for file in self.files:
            yield from self.calls(file, wanted)

    def matching(self, wanted: Callable[[str], bool]) -> Iterator[Site]:
        """The lines of all files whose code, without spaces and comments, is as wanted."""
        for file in self.files:
            for number, text in enumerate(self.parsed(file).lines, 1):
                if wanted(text.replace(" ", "").partition("#")[0]):
                    yield self.site(file, number)

    def statement(self, site: Site) -> ast.stmt | None:
        """The innermost statement at a line, where of a compound one only the head counts."""
        return self.parsed(site.file).statements.get(site.line)

    def function(self, site: Site) -> ast.AST | None:
        """The innermost function around a line; the module when there is none."""
        return self.parsed(site.file).functions.get(site.line, self.tree(site.file))

    def loop(self, site: Site) -> ast.For | ast.While | None:
        """The innermost loop around a line in its function."""
        function = self.function(site)
        around = (node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))) if function else ()
        return next((one for one in reversed(list(around)) if one.lineno <= site.line <= (one.end_lineno or 0)), None)

    def _function(self, file: str, line: int) -> str:
        around = self.function(Site(file, line))
        return getattr(around, "name", "<module>")

    def switch(self, stack: Stack) -> Mode | None:
        """What switched gradients off around a stack: a `with` or decorator around it, or a call that stays."""
        frames = user_frames(stack)
        for site in frames:
            line = self.parsed(site.file).modes.get(site.line)
            if line is not None:
                return Mode(self.site(site.file, line), True)
        order = [site.file for site in frames]
        suspended = next(self._suspended(), None)
        if suspended is not None:
            return Mode(suspended, True)
        switches = [
            site for file in dict.fromkeys([*order, *self.files]) for site in self.calls(file, self._switcher(file))
        ]
        return Mode(switches[0], False) if switches else None

    def inference_mode(self, stack: Stack) -> Site | None:
        """Where inference mode is on around a stack: nothing made in it has a graph, under enable_grad() either."""
        for site in user_frames(stack):
            line = self.parsed(site.file).modes.get(site.line)
            found = None if line is None else self.site(site.file, line)
            if found is not None and "inference_mode" in (found.source or ""):
                return found
        return None

    def _suspended(self) -> Iterator[Site]:
        """The `with` blocks without gradients out of which a generator yields: its consumer's code runs in them."""
        for file in self.files:
            modes = self.parsed(file).modes
            for node in self.nodes(file):
                line = modes.get(node.lineno) if isinstance(node, ast.Yield | ast.YieldFrom) else None
                if line is not None and getattr(self.function(Site(file, line)), "lineno", line) < line:
                    yield self.site(file, line)

    def _switcher(self, file: str) -> Callable[[ast.AST], bool]:
        """Matches what leaves gradients off; `guard.__enter__()` where the file makes such a guard."""
        guards = self.parsed(file).names_mode
        entered = attribute_call("__enter__")
        return lambda node: _switches_off(node) or (guards and entered(node))


@kept
def syntax(facts: Facts) -> Syntax:
    """The syntax of the user's files."""
    return Syntax(facts.sources())


def attribute_call(*names: str) -> Callable[[ast.AST], bool]:
    """Matches calls of a method: `anything.name(...)`."""

    def wanted(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names

    return wanted


def _switches_off(node: ast.AST) -> bool:
    """A call that leaves gradients off: `set_grad_enabled(False)` or `no_grad().__enter__()`."""
    if not isinstance(node, ast.Call):
        return False
    if last_name(node.func) in SWITCHES:
        return names_mode(node)
    entered = node.func
    return (
        isinstance(entered, ast.Attribute)
        and entered.attr in ("__enter__", "enter_context")
        and (names_mode(entered.value) or any(map(names_mode, node.args)))
    )


def _line(node: ast.AST) -> int:
    """The line of a method's own name: in a chain over several lines, its call begins further up."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.end_lineno or node.lineno
    return getattr(node, "lineno", 1)
