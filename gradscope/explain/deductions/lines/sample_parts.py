"""The line of a program's dataset that makes what a name holds: the labels of a batch, or what its model is given.

Answers None where the name does not come from a loader's batch as it is, or where several datasets may have made it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import argument, calls_at, handed_in
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames

_FAR = 12  # names in a row
KEEPS = """
    to cuda cpu long contiguous squeeze unsqueeze view reshape flatten permute transpose next iter enumerate tqdm
"""  # calls that leave the values as they are
_KEEPS = frozenset(KEEPS.split())
Key = int | str


def input_line(case: Case, stack: Stack) -> Site | None:
    """The line that makes what a module is given, in the call at the top of the user's part of a stack."""
    own = user_frames(stack)
    return _argument_line(case, own, calls_at(case, own[0])[::-1], "input", 0) if own else None


def target_line(case: Case, stack: Stack) -> Site | None:
    """The line that makes the targets of the loss which is called there."""
    own = user_frames(stack)
    return _argument_line(case, own, calls_at(case, own[0]), "target", 1) if own else None


def _argument_line(case: Case, own: Stack, calls: list[ast.Call], name: str, position: int) -> Site | None:
    for call in calls:
        value = argument(call, name, position)
        keys = None if value is None else _keys(case, own, value, own[0].line + 1, _FAR)
        if keys:
            return _made(case, keys)
    return None


def _keys(case: Case, own: Stack, value: ast.expr, before: int, far: int) -> list[Key] | None:
    """Which part of a loader's batch an expression is, outermost first; None when it is none. `before`: a line, at
    which names have the values that they were given above it."""
    if far == 0:
        return None
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        inner = _keys(case, own, value.value, before, far - 1)
        key = value.slice.value
        return [*inner, key] if inner is not None and isinstance(key, int | str) else None
    if isinstance(value, ast.Call) and called_name(value) in _KEEPS:
        inside = value.func.value if isinstance(value.func, ast.Attribute) else next(iter(value.args), None)
        return None if inside is None else _keys(case, own, inside, before, far - 1)
    return _named(case, own, value.id, before, far) if isinstance(value, ast.Name) else None


def _named(case: Case, own: Stack, name: str, before: int, far: int) -> list[Key] | None:
    function = syntax(case).function(own[0]) or syntax(case).tree(own[0].file)
    bound = [] if function is None else sorted(_bindings(function, name, before), key=lambda one: one[0])
    if bound:
        line, path, value, from_loader = bound[-1]
        if from_loader:
            return path
        inner = _keys(case, own, value, line, far - 1)
        return None if inner is None else [*inner, *path]
    if not isinstance(function, ast.FunctionDef) or len(own) < 2:
        return None
    handed = handed_in(case, own, function, name)
    return None if handed is None else _keys(case, own[1:], handed, own[1].line + 1, far - 1)


def _bindings(function: ast.AST, name: str, before: int) -> Iterator[tuple[int, list[Key], ast.expr, bool]]:
    """Where a name is bound above a line: the line, which part of what it is, and whether a loop over it binds it."""
    for node in ast.walk(function):
        if isinstance(node, ast.For) and node.lineno < before:
            target, numbered = node.target, isinstance(node.iter, ast.Call) and "enumerate" in ast.unparse(node.iter)
            if numbered and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                target = target.elts[1]
            yield from ((node.lineno, path, node.iter, True) for path in _paths(target, name))
        elif isinstance(node, ast.Assign) and node.lineno < before:
            for path in _paths(node.targets[0], name):
                value, rest = _inside(node.value, path)
                yield node.lineno, rest, value, isinstance(value, ast.Call) and called_name(value) == "next"


def _inside(value: ast.expr, path: list[Key]) -> tuple[ast.expr, list[Key]]:
    """The part of a tuple's display that a path leads to, and what of the path is left."""
    key = path[0] if path else None
    if isinstance(value, ast.Tuple) and isinstance(key, int) and key < len(value.elts):
        return _inside(value.elts[key], path[1:])
    return value, path


def _paths(target: ast.expr, name: str) -> Iterator[list[Key]]:
    """Where in a target a name stands."""
    if isinstance(target, ast.Name) and target.id == name:
        yield []
    elif isinstance(target, ast.Tuple | ast.List):
        for at, one in enumerate(target.elts):
            yield from ([at, *path] for path in _paths(one, name))


def _made(case: Case, keys: list[Key]) -> Site | None:
    """The line of the only dataset that makes this part of a sample."""
    found = {site for file in syntax(case).files for site in _parts(case, file, keys)}
    return found.pop() if len(found) == 1 else None


def _parts(case: Case, file: str, keys: list[Key]) -> Iterator[Site | None]:
    for owner in syntax(case).nodes(file):
        if isinstance(owner, ast.ClassDef):
            methods = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)}
            if "__getitem__" in methods and "__len__" in methods:
                line = _line(owner, methods["__getitem__"], keys)
                yield None if line is None else syntax(case).site(file, line)
        elif isinstance(owner, ast.Call) and called_name(owner) == "TensorDataset":
            yield None  # its columns are made somewhere else


def _line(owner: ast.ClassDef, getitem: ast.FunctionDef, keys: list[Key]) -> int | None:
    returned = [one.value for one in ast.walk(getitem) if isinstance(one, ast.Return)]
    value = _element(returned[0], keys) if len(returned) == 1 and returned[0] is not None else None
    if value is None:
        return None
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Attribute):
        return _kept(owner, value.value.attr) or value.lineno
    return _computed(getitem, value)


def _computed(function: ast.FunctionDef, value: ast.expr) -> int:
    """The line that computes a value: of a name, or of one that is only made a tensor of, where it was assigned."""
    inside = value.args[0] if isinstance(value, ast.Call) and value.args else value
    if not isinstance(inside, ast.Name):
        return value.lineno
    lines = [one.lineno for one in ast.walk(function) if isinstance(one, ast.Assign) and list(_only(one, inside.id))]
    return lines[-1] if lines else value.lineno


def _element(value: ast.expr, keys: list[Key]) -> ast.expr | None:
    """The part of a tuple's or a dict's display that keys lead to."""
    if not keys:
        return value
    inside: ast.expr | None = None
    if isinstance(value, ast.Tuple) and isinstance(keys[0], int) and keys[0] < len(value.elts):
        inside = value.elts[keys[0]]
    elif isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        inside = next((its for one, its in pairs if isinstance(one, ast.Constant) and one.value == keys[0]), None)
    return None if inside is None else _element(inside, keys[1:])


def _only(assign: ast.Assign, name: str) -> Iterator[ast.expr]:
    return (one for one in assign.targets if isinstance(one, ast.Name) and one.id == name)


def _kept(owner: ast.ClassDef, name: str) -> int | None:
    """The line that computes what a dataset's attribute holds, or what is put into it one by one, unless it was handed
    in as it is."""
    assigned = (one for one in ast.walk(owner) if isinstance(one, ast.Assign))
    kept = [one for one in assigned if ast.unparse(one.targets[0]) == f"self.{name}"]
    if len(kept) != 1 or isinstance(kept[0].value, ast.Name):
        return None
    put = [
        (function, call.args[0])
        for function in owner.body
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == f"self.{name}.append" and call.args
    ]
    return _computed(*put[0]) if len(put) == 1 else kept[0].lineno
