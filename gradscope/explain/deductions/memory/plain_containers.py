"""The line that hides parameters from parameters(): it keeps modules in a plain list or dict of an object.

The layers may be built anywhere, by a function of another file; and the line that puts them in is right, where another
one has made a plain list of what should be a ModuleList.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.memory.given_containers import keeps_plainly
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.source_lines import class_around
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames

_LITERALS = (ast.List, ast.Dict, ast.Tuple, ast.ListComp, ast.DictComp, ast.Set, ast.SetComp)
_BUILDERS = ("list", "dict", "tuple", "OrderedDict", "defaultdict", "deque", "set")
_FILLS = ("uniform_", "normal_", "zero_", "fill_", "trunc_normal_", "copy_")
_ADDS = ("append", "extend", "insert", "setdefault", "update", "add")


def container_around(case: Case, stack: Stack) -> Site | None:
    """Where a caller of the line that made a parameter puts it into one; None where that cannot be told."""
    entered: set[str] = set()  # the classes whose methods made it: what is given to these calls is something else
    returned_by = ""  # the function that was called last, where it returns a plain container of it
    for site in user_frames(stack):
        statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
        if statement is not None and (_keeps(statement) or _keeps_what_is_returned(statement, returned_by)):
            return syntax(case).site(site.file, statement.lineno, site.function)
        function = syntax(case).function(site)
        name = "" if statement is None else _gathered_in(statement) or _gathered_later(function, statement)
        kept = _kept_later(function, name) or (None if statement is None else _put_later(function, statement))
        if kept is not None:
            return syntax(case).site(site.file, kept.lineno, site.function)
        taken = None if statement is None else _taken(case, site, statement, entered)
        if taken is not None:
            return taken
        returned_by = _returning(function, statement, name)
        owner = class_around(case, site)
        entered |= {owner.name} if owner is not None else set()
    return None


def _keeps_what_is_returned(statement: ast.stmt, function: str) -> bool:
    """`owner.layers = make_layers(...)`, of a function that returns a plain container."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call) or not function:
        return False
    is_called = last_name(statement.value.func) == function
    return is_called and any(isinstance(one, ast.Attribute) for one in statement.targets)


def _returning(function: ast.AST | None, made: ast.stmt | None, name: str) -> str:
    """The name of a function that returns the container of that name, or the one that a statement makes."""
    if not isinstance(function, ast.FunctionDef) or made is None:
        return ""
    returns = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    named = any(isinstance(one, ast.Name) and one.id == name for one in returns)
    makes = isinstance(made, ast.Return) and made.value is not None and _is_container(made.value)
    return function.name if named or makes else ""


def _taken(case: Case, site: Site, statement: ast.stmt, entered: set[str]) -> Site | None:
    """Where a module that is given what a statement makes, by it or a later one of its function, keeps it plainly."""
    name, function = _gathered_in(statement), syntax(case).function(site)
    for call in ast.walk(function if name and function is not None else statement):
        is_given = isinstance(call, ast.Call) and last_name(call.func) not in entered
        taken = keeps_plainly(case, call, name) if isinstance(call, ast.Call) and is_given else None
        if taken is not None:
            return taken
    return None


def late_container(case: Case, count: int) -> Site | None:
    """The only container of an object that what is filled later, when tensors are not followed, is put into; None where
    fewer tensors than that are filled on the way there."""
    followed = {one.run for one in dataflow(case).operations}
    late = (block for block in case.blocks() if block.backward is None and block.number not in followed)
    fills = [one.stack for block in late for one in block.operations if base_name(one.name) in _FILLS]
    around = {stack: container_around(case, stack) for stack in set(fills)}
    found = Counter(site for stack in fills if (site := around[stack]) is not None)
    return next(iter(found)) if len(found) == 1 and found.total() >= count else None


def made_plain_at(case: Case, put: Site) -> Site | None:
    """Where the container that a line puts something into was made: `self.layers = []`, in the same function before
    it, else elsewhere in the class. None where another line than one of these may have made it."""
    statement = syntax(case).parsed(put.file).whole_statements.get(put.line)
    name = None if statement is None else _put_into(statement)
    function, owner = syntax(case).function(put), class_around(case, put)
    if name is None or statement is None or function is None:
        return None
    before = [one for one in _bindings(function, name) if one.lineno < statement.lineno]
    bindings = before[-1:] or list(_bindings(owner, name)) if owner is not None else before[-1:]
    plain = [one for one in bindings if one.value is not None and _is_container(one.value)]
    if len(bindings) != 1 or not plain or plain[0] is statement:
        return None
    return syntax(case).site(put.file, plain[0].lineno)


def _put_into(statement: ast.stmt) -> str | None:
    """`self.layers` of `self.layers.append(...)` and `self.layers[key] = ...`; None for others."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        return ast.unparse(called.value) if isinstance(called, ast.Attribute) else None
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return next((ast.unparse(one.value) for one in targets if isinstance(one, ast.Subscript)), None)


def _bindings(around: ast.AST, name: str) -> Iterator[ast.Assign | ast.AnnAssign]:
    """The statements that give an attribute a value, in their order."""
    found = [one for one in ast.walk(around) if isinstance(one, ast.Assign | ast.AnnAssign)]
    for one in sorted(found, key=lambda each: each.lineno):
        places = one.targets if isinstance(one, ast.Assign) else [one.target]
        if any(ast.unparse(place) == name for place in places):
            yield one


def _keeps(statement: ast.stmt) -> bool:
    """`owner.layers = [...]`, `owner.layers[key] = ...`, `owner.layers.append(...)`."""
    if isinstance(statement, ast.Expr):
        called = statement.value.func if isinstance(statement.value, ast.Call) else None
        return isinstance(called, ast.Attribute) and called.attr in _ADDS and isinstance(called.value, ast.Attribute)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or statement.value is None:
        return False
    places = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if any(isinstance(one, ast.Subscript) and isinstance(one.value, ast.Attribute) for one in places):
        return True
    return any(isinstance(one, ast.Attribute) for one in places) and _is_container(statement.value)


def _gathered_in(statement: ast.stmt) -> str:
    """`layers` of `layers = [...]` and `layers.append(...)`; nothing of others."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        if isinstance(called, ast.Attribute) and called.attr in _ADDS and isinstance(called.value, ast.Name):
            return called.value.id
        return ""
    if not isinstance(statement, ast.Assign) or not _is_container(statement.value):
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _gathered_later(function: ast.AST | None, made: ast.stmt) -> str:
    """`layers` where a function has `layer = ...` and then `layers.append(layer)`; nothing of others."""
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    if function is None or not isinstance(target, ast.Name):
        return ""
    for one in ast.walk(function):
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and one.lineno > made.lineno:
            name = _gathered_in(one)
            if name and any(_holds(each, target.id) for each in one.value.args):
                return name
    return ""


def _kept_later(function: ast.AST | None, name: str) -> ast.stmt | None:
    """The statement of a function that makes a plain container of that name an attribute as it is."""
    for node in ast.walk(function) if function is not None and name else ():
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Attribute) for one in node.targets):
            value: ast.expr = node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _BUILDERS:
                value = value.args[0] if value.args else value
            if isinstance(value, ast.Name) and value.id == name:
                return node
    return None


def _put_later(function: ast.AST | None, made: ast.stmt) -> ast.stmt | None:
    """The first statement behind `layer = ...` in its function that puts what has this name into one of an object."""
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    if function is None or not isinstance(target, ast.Name):
        return None
    behind = [one for one in ast.walk(function) if isinstance(one, ast.stmt) and one.lineno > made.lineno]
    for one in sorted(behind, key=lambda each: each.lineno):
        value = getattr(one, "value", None)
        given = value.args if isinstance(one, ast.Expr) and isinstance(value, ast.Call) else [value]
        if _keeps(one) and any(_holds(each, target.id) for each in given):
            return one
    return None


def _holds(value: ast.expr | None, name: str) -> bool:
    """Whether a value is what has a name, or a module or a container around it: `nn.Sequential(layer, nn.ReLU())`."""
    if isinstance(value, ast.Call) and last_name(value.func)[:1].isupper():
        return any(_holds(one, name) for one in value.args)
    if isinstance(value, ast.List | ast.Tuple):
        return any(_holds(one, name) for one in value.elts)
    return isinstance(value, ast.Name) and value.id == name


def _is_container(value: ast.expr) -> bool:
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, _LITERALS) or (isinstance(function, ast.Name) and function.id in _BUILDERS)
