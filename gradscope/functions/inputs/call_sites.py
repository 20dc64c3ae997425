"""How a package itself calls a Function: the arguments of `Name.apply(...)` in its files and tests, parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradscope.functions import source
from gradscope.functions.inputs.spec import TensorSpec
from gradscope.functions.source import called_name, last_name
from gradscope.functions.subject import Subject

FILES = 3000  # of a package that are looked through; there is no need to see them all
MAKERS = {"randn": "randn", "rand": "rand", "zeros": "zeros", "ones": "ones", "randint": "index"}
PASSING_ON = ("requires_grad_", "double", "float", "to", "clone", "cuda", "detach", "contiguous")
DEPTH = 6


class Unknown:
    """An argument of which the source alone does not say what it is."""


UNKNOWN = Unknown()
NO_TENSOR = Unknown()  # a tuple, a dict or a function that is written out there
WRITTEN_OUT = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr)


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call: where, and each argument as a value, a TensorSpec for a tensor that is made there, or UNKNOWN."""

    place: str
    arguments: tuple[Any, ...]


def call_sites(subject: Subject) -> list[CallSite]:
    """The calls of a Function in its package and in the tests beside it."""
    if subject.site is None:
        return []
    name = subject.short_name
    found: list[CallSite] = []
    for path, text in texts_of(package_of(Path(subject.site.file))):
        if f"{name}.apply" in text:
            found += calls_in(path, text, name)
    return found


def package_of(file: Path) -> Path:
    """The outermost folder of a file that is a package; the file's own folder where it is in none."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder if (folder / "__init__.py").is_file() else file


@cache
def texts_of(package: Path) -> tuple[tuple[Path, str], ...]:
    """The Python files of a package, and of the tests beside it, in which something is applied."""
    roots = [package, *(package.parent / name for name in ("tests", "test") if package.is_dir())]
    paths = [path for root in roots for path in (sorted(root.rglob("*.py")) if root.is_dir() else [root])][:FILES]
    texts: list[tuple[Path, str]] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if ".apply" in text:
            texts.append((path, text))
    return tuple(texts)


def calls_in(path: Path, text: str, name: str) -> Iterator[CallSite]:
    """The calls of a Function in one file, by `Name.apply(...)` or by a name that was given to `Name.apply`."""
    tree = parsed(path, text)
    if tree is None:
        return
    aliases = {last_name(target) for target in targets_of_apply(tree, name)}
    for scope, call in calls_with_scopes(tree):
        direct = (
            called_name(call) == "apply" and isinstance(call.func, ast.Attribute) and last_name(call.func.value) == name
        )
        plain = not any(isinstance(argument, ast.Starred) for argument in call.args) and not call.keywords
        if plain and (direct or called_name(call) in aliases):
            arguments = tuple(resolved(argument, scope) for argument in call.args)
            yield CallSite(f"{path.name}:{call.lineno}", arguments)


@cache
def parsed(path: Path, text: str) -> ast.Module | None:
    """The syntax tree of a file, if it is Python of this version, once for all questions."""
    return source.parsed(text)


def targets_of_apply(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    """What is assigned `Name.apply`."""
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(value, ast.Attribute) and value.attr == "apply" and last_name(value.value) == name:
            yield from node.targets if isinstance(node, ast.Assign) else ()


def calls_with_scopes(tree: ast.Module) -> Iterator[tuple[list[ast.AST], ast.Call]]:
    """Every call with what it stands in: the module, classes and functions, the innermost last."""
    waiting: list[tuple[ast.AST, list[ast.AST]]] = [(tree, [tree])]
    while waiting:
        node, scope = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                yield scope, child
            opens = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            waiting.append((child, [*scope, child] if opens else scope))


def resolved(node: ast.expr, scope: Sequence[ast.AST], depth: int = DEPTH) -> Any:
    """The value of an expression as far as the source says it: literals, defaults, attributes set in __init__."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if depth == 0:
        return UNKNOWN
    if isinstance(node, ast.Call):
        return made_tensor(node, scope, depth)
    if isinstance(node, ast.Name):
        return named_value(node.id, scope, depth)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return attribute_value(node.attr, scope, depth)
    return NO_TENSOR if isinstance(node, WRITTEN_OUT) else UNKNOWN


def made_tensor(call: ast.Call, scope: Sequence[ast.AST], depth: int) -> Any:
    """A tensor that is made in the call, with sizes that the source says."""
    name = called_name(call)
    if name in PASSING_ON and isinstance(call.func, ast.Attribute):
        return resolved(call.func.value, scope, depth - 1)
    if name not in MAKERS:
        return UNKNOWN
    values = [resolved(argument, scope, depth - 1) for argument in call.args]
    shape = next((v for v in values if isinstance(v, tuple | list)), [v for v in values if isinstance(v, int)])
    whole = all(isinstance(size, int) and 0 < size <= 64 for size in shape)
    return TensorSpec(MAKERS[name], tuple(shape)) if whole and values else UNKNOWN


def named_value(name: str, scope: Sequence[ast.AST], depth: int) -> Any:
    """The value of a name: assigned once in the innermost scope that knows it, or a parameter's default."""
    for level in range(len(scope) - 1, -1, -1):
        owner = scope[level]
        if isinstance(owner, ast.ClassDef) and level != len(scope) - 1:
            continue
        values = [n.value for n in own_statements(owner) if isinstance(n, ast.Assign) and assigns(n, name)]
        if values:
            return resolved(values[-1], scope[: level + 1], depth - 1)
        if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef) and name in parameter_names(owner):
            return default_of(owner, name, scope[:level], depth)
    return UNKNOWN


def own_statements(owner: ast.AST) -> Iterator[ast.AST]:
    """What stands in a module or function, without the functions and classes inside of it."""
    waiting = list(ast.iter_child_nodes(owner))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def assigns(statement: ast.Assign, name: str) -> bool:
    """Whether a statement assigns this plain name."""
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def parameter_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """All parameters' names."""
    arguments = function.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def default_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, scope: Sequence[ast.AST], depth: int
) -> Any:
    """The default of a parameter; None says nothing, because it stands for what is chosen later."""
    arguments = function.args
    places = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    defaults: dict[str, ast.expr | None] = dict(zip(places[::-1], arguments.defaults[::-1], strict=False))
    defaults.update(zip((one.arg for one in arguments.kwonlyargs), arguments.kw_defaults, strict=True))
    default = defaults.get(name)
    value = resolved(default, scope, depth - 1) if default is not None else UNKNOWN
    return UNKNOWN if value is None else value


def attribute_value(attribute: str, scope: Sequence[ast.AST], depth: int) -> Any:
    """The value of `self.attribute` as the enclosing class's __init__ sets it."""
    level = next((i for i in range(len(scope) - 1, -1, -1) if isinstance(scope[i], ast.ClassDef)), None)
    if level is None:
        return UNKNOWN
    for method in ast.iter_child_nodes(scope[level]):
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "__post_init__"):
            for node in own_statements(method):
                if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Attribute) and target.attr == attribute for target in node.targets
                ):
                    return resolved(node.value, [*scope[: level + 1], method], depth - 1)
    return UNKNOWN
