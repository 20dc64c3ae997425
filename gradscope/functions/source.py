"""Reading methods by their syntax trees: what is called, read, assigned and returned in them.

Everything here works on text; nothing of the user's is run. A method without source has `node` None and knows nothing.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gradscope.model.site import Site

_DEEPEST = 100  # expressions in one another: who goes through them calls a function for each


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a Function as it stands in its class. `kind` is staticmethod, classmethod or function."""

    name: str
    kind: str
    function: Callable[..., Any]
    file: str
    first_line: int
    lines: tuple[str, ...]
    node: ast.FunctionDef | None

    @property
    def site(self) -> Site:
        """The line of its `def`."""
        return self.at(self.node) if self.node else Site(self.file, self.first_line, self.name)

    def at(self, node: ast.AST | None) -> Site:
        """The site of a piece of its syntax."""
        line = getattr(node, "lineno", 1)
        source = self.lines[line - 1].strip() if line <= len(self.lines) else None
        return Site(self.file, self.first_line + line - 1, self.name, source)

    @property
    def text(self) -> str:
        """Its source."""
        return "\n".join(self.lines)

    @property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """Its parameters as torch sees them: the `cls` of a classmethod is not one of them."""
        try:
            found = tuple(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return ()
        return found[1:] if self.kind == "classmethod" else found

    @property
    def names(self) -> tuple[str, ...]:
        """Its positional parameters' names."""
        return tuple(p.name for p in self.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))

    @property
    def takes_any(self) -> bool:
        """Whether it ends in *args."""
        return any(p.kind is p.VAR_POSITIONAL for p in self.parameters)

    @property
    def context(self) -> str:
        """The name of its first parameter: ctx, usually."""
        return self.names[0] if self.names else "ctx"

    def walk(self) -> Iterator[ast.AST]:
        """Every node of its syntax, decorators excluded."""
        for statement in self.node.body if self.node else ():
            yield from ast.walk(statement)

    def calls(self, *names: str) -> list[ast.Call]:
        """Calls of a plain name or an attribute of one of these names, in source order."""
        found = [node for node in self.walk() if isinstance(node, ast.Call) and called_name(node) in names]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def context_calls(self, name: str) -> list[ast.Call]:
        """Calls of `ctx.<name>(...)`."""
        return [call for call in self.calls(name) if is_attribute_of(call.func, self.context)]

    def context_stores(self) -> dict[str, ast.AST]:
        """Attributes assigned on ctx, with the first place where each is."""
        stores: dict[str, ast.AST] = {}
        for node in self.walk():
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and is_attribute_of(node, self.context)
            ):
                stores.setdefault(node.attr, node)
        return stores

    def reads(self, name: str) -> bool:
        """Whether the plain name is read anywhere in it."""
        return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in self.walk())

    def attributes(self, *names: str) -> list[ast.Attribute]:
        """Reads of an attribute of one of these names on anything."""
        return [
            n for n in self.walk() if isinstance(n, ast.Attribute) and n.attr in names and isinstance(n.ctx, ast.Load)
        ]

    def uses(self, *roots: str) -> ast.AST | None:
        """The first use of one of these plain names (modules, for instance)."""
        return next((n for n in self.walk() if isinstance(n, ast.Name) and n.id in roots), None)

    def decorated_with(self, name: str) -> bool:
        """Whether a decorator of that last name stands above it."""
        decorators = self.node.decorator_list if self.node else []
        return any(last_name(d.func if isinstance(d, ast.Call) else d) == name for d in decorators)


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c`, or the plain name itself."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called_name(call: ast.Call) -> str:
    """The last name of what is called."""
    return last_name(call.func)


def names_in(*nodes: ast.AST | None) -> set[str]:
    """All plain names that stand in some expressions or statements."""
    return {one.id for node in nodes if node is not None for one in ast.walk(node) if isinstance(one, ast.Name)}


def is_attribute_of(node: ast.AST, name: str) -> bool:
    """Whether this is `name.something`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


def read_method(owner: type, name: str) -> Method | None:
    """Read a method that the class (or a base of it other than torch's) defines."""
    raw = next((vars(base)[name] for base in overriding(owner) if name in vars(base)), None)
    if raw is None:
        return None
    function = getattr(raw, "__func__", raw)
    if not callable(function):
        return None
    kind = type(raw).__name__ if isinstance(raw, staticmethod | classmethod) else "function"
    plain = inspect.unwrap(function)
    code = getattr(plain, "__code__", None)
    file, first_line = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    lines, node = syntax(plain)
    return Method(name, kind, function, file, first_line, lines, node)


def overriding(owner: type) -> list[type]:
    """The class and its bases as far as they override anything: without torch's Function and what stands above it."""
    from torch.autograd import Function

    return [base for base in owner.__mro__ if not issubclass(Function, base)]


def parsed(text: str) -> ast.Module | None:
    """The syntax of a text, which may say anything; None when it is not Python of this version.

    What a generated sum of a thousand terms has beyond the hundredth is a name that says nothing.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    waiting: list[tuple[ast.AST, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                waiting.append((child, 0))
            elif depth < _DEEPEST:
                waiting.append((child, depth + 1))
            else:
                _put(node, child, ast.copy_location(ast.Name("_", ast.Load()), child))
    return tree


def _put(node: ast.AST, old: ast.expr, new: ast.expr) -> None:
    """Another expression in the place of one."""
    for name, value in ast.iter_fields(node):
        if value is old:
            setattr(node, name, new)
        elif isinstance(value, list) and old in value:
            value[value.index(old)] = new


def syntax(function: Callable[..., Any]) -> tuple[tuple[str, ...], ast.FunctionDef | None]:
    """The source lines and the tree of a function, or nothing when the source is missing."""
    try:
        lines = inspect.getsource(function).splitlines()
        tree = ast.parse(textwrap.dedent("\n".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return (), None
    node = tree.body[0] if tree.body else None
    return tuple(lines), node if isinstance(node, ast.FunctionDef) else None
