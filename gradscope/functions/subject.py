"""A Function as it reads: its methods, its attributes, its promises. Nothing of it is run here."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gradscope.functions.source import Method, read_method
from gradscope.model.declaration import Declaration
from gradscope.model.site import Site

NOTHING = Declaration("")
METHODS = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")


@dataclass(frozen=True, slots=True)
class Subject:
    """One candidate: `function` is the class (None when the name led to something else, which is in `candidate`)."""

    name: str
    candidate: Any
    function: Any = None
    methods: dict[str, Method] = field(default_factory=dict)
    site: Site | None = None
    declared: Declaration = NOTHING

    def method(self, name: str) -> Method | None:
        """The method as the class overrides it, or None."""
        return self.methods.get(name)

    def has(self, name: str) -> bool:
        """Whether the class overrides this method."""
        return name in self.methods

    @property
    def short_name(self) -> str:
        """The class's own name."""
        return self.name.rpartition(".")[2]

    @property
    def separate_context(self) -> bool:
        """Whether forward and setup_context are two methods, which torch.func demands."""
        return self.has("setup_context")

    @property
    def generates_vmap(self) -> bool:
        """Whether `generate_vmap_rule = True`."""
        return bool(getattr(self.function, "generate_vmap_rule", False))

    @property
    def text(self) -> str:
        """The source of the class, or nothing."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return ""

    @property
    def once_differentiable(self) -> bool:
        """Whether backward is declared not to be differentiated again."""
        if self.declared.once_differentiable is not None:
            return self.declared.once_differentiable
        backward = self.method("backward") or self.method("vjp")
        return backward is not None and backward.decorated_with("once_differentiable")

    @property
    def custom_gradient(self) -> bool:
        """Whether it is said that its gradient is meant to differ from the formula's."""
        if self.declared.custom_gradient is not None:
            return self.declared.custom_gradient
        return bool(getattr(self.function, "custom_gradient", False))

    @property
    def promise(self) -> str:
        """The level that the class itself declares: func with any of torch.func's members, else eager."""
        members = any(self.has(name) for name in ("setup_context", "vmap", "jvp"))
        return "func" if members or self.generates_vmap else "eager"

    @property
    def unseen(self) -> tuple[str, ...]:
        """The methods whose source could not be read."""
        return tuple(name for name, method in self.methods.items() if method.node is None)

    @property
    def context_methods(self) -> tuple[Method, ...]:
        """The methods that fill ctx."""
        names = ("setup_context",) if self.separate_context else ("forward",)
        return tuple(self.methods[name] for name in names if name in self.methods)


def read(name: str, candidate: Any, is_function: bool, declared: Declaration = NOTHING) -> Subject:
    """Read a candidate; a class that is no Function gets a Subject without methods."""
    if not is_function:
        return Subject(name, candidate, site=class_site(candidate))
    methods = {key: method for key in METHODS if (method := read_method(candidate, key)) is not None}
    return Subject(name, candidate, candidate, methods, class_site(candidate), declared)


def class_site(candidate: Any) -> Site | None:
    """The line of the class statement."""
    try:
        lines, first = inspect.getsourcelines(candidate)
        file = inspect.getsourcefile(candidate) or ""
    except (OSError, TypeError):
        return None
    offset = next((i for i, line in enumerate(lines) if line.lstrip().startswith("class ")), 0)
    return Site(file, first + offset, getattr(candidate, "__name__", ""), lines[offset].strip())


@cache
def module_tree(file: str) -> ast.Module | None:
    """The syntax tree of a whole file, parsed once."""
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
        return None
