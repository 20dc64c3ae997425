"""The line that gives a setting its value: `lr=args.lr` is read back to the option, field, argument or name it is from.

Answers None where more than one line may have given it: then the line that uses it is all that is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site, Stack, user_frames

_FAR = 8  # names in a row


def setting_line(case: Case, stack: Stack, keyword: str, position: int | None = None) -> Site | None:
    """The line that gives the value of an argument of the call at the top of the user's part of a stack."""
    own = user_frames(stack)
    for call in calls_at(case, own[0]) if own else ():
        value = argument(call, keyword, position)
        if value is not None:
            return _given(case, own, value, _FAR)
        if any(one.arg is None for one in call.keywords):  # **settings
            return _only_field(case, keyword)
    return None


def _only_field(case: Case, name: str) -> Site | None:
    found = {site for file in syntax(case).files for site in _fields(case, file, name)} if name else set()
    return found.pop() if len(found) == 1 else None


def parameter_line(case: Case, stack: Stack, name: str) -> Site | None:
    """The line that gives a parameter of the function at the top of the user's part of a stack its value."""
    own = user_frames(stack)
    function = syntax(case).function(own[0]) if own else None
    return _handed(case, own, function, name, _FAR) if isinstance(function, ast.FunctionDef) else None


def value_line(case: Case, stack: Stack, value: ast.expr) -> Site | None:
    """The line that gives an expression at the top of the user's part of a stack its value."""
    own = user_frames(stack)
    return _given(case, own, value, _FAR) if own else None


def _given(case: Case, own: Stack, value: ast.expr, far: int) -> Site | None:
    """The line that gives the value of an expression which stands in the innermost of these frames."""
    read = list(_read(value))
    if not read or _is_computed(case, value):
        return syntax(case).site(own[0].file, value.lineno)
    if far == 0:
        return None
    if len({ast.unparse(one) for one in read}) > 1:
        return None
    if isinstance(read[0], ast.Name):
        return _named(case, own, read[0].id, far)
    return _only_field(case, _field(read[0]))


def _is_computed(case: Case, value: ast.expr) -> bool:
    """Whether a function of the program's own has a part in a value: what it is given is not what it gives."""
    called = {called_name(one) for one in ast.walk(value) if isinstance(one, ast.Call)} - {""}
    own = syntax(case).everywhere(lambda node: isinstance(node, ast.FunctionDef) and node.name in called)
    return bool(called) and next(own, None) is not None


def _read(value: ast.expr) -> Iterator[ast.expr]:
    """The names, attributes and keyed values that an expression is computed from, without what they are taken of."""
    if isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
        yield value
        return
    arguments = [*value.args, *(one.value for one in value.keywords)] if isinstance(value, ast.Call) else None
    for child in ast.iter_child_nodes(value) if arguments is None else arguments:
        if isinstance(child, ast.expr):
            yield from _read(child)


def _field(value: ast.expr) -> str:
    if isinstance(value, ast.Attribute):
        return value.attr
    key = value.slice if isinstance(value, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _fields(case: Case, file: str, name: str) -> Iterator[Site]:
    """The lines of a file that give an option, a field or a key of this name a constant."""
    for node in syntax(case).nodes(file):
        for line in _sets(node, name):
            yield syntax(case).site(file, line)


def _sets(node: ast.AST, name: str) -> Iterator[int]:
    if (isinstance(node, ast.AnnAssign) and last_name(node.target) == name and _is_constant(node.value)) or (
        isinstance(node, ast.Assign) and _is_constant(node.value) and name in map(_last, node.targets)
    ):
        yield node.lineno
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name and _is_constant(value):
                yield value.lineno
    elif isinstance(node, ast.Call) and called_name(node) == "add_argument":
        options = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in {option.lstrip("-").replace("-", "_") for option in options}:
            yield node.lineno
    elif isinstance(node, ast.Call):
        yield from (one.value.lineno for one in node.keywords if one.arg == name and _is_constant(one.value))


def _last(target: ast.expr) -> str:
    return _field(target) if isinstance(target, ast.Subscript) else last_name(target)


def _is_constant(value: ast.expr | None) -> bool:
    return value is not None and not isinstance(value, ast.Call) and not list(_read(value))


def _named(case: Case, own: Stack, name: str, far: int) -> Site | None:
    """The line that gives a plain name its value: in this function, as its argument, or at the top of the file."""
    function = syntax(case).function(own[0])
    if function is None:
        return None
    if isinstance(function, ast.FunctionDef) and name in map(_arg, _parameters(function)):
        return _handed(case, own, function, name, far - 1)
    for scope in (function, syntax(case).tree(own[0].file)):
        found = list(_assignments(scope, name)) if scope is not None else []
        if len(found) == 1:
            made = found[0]
            at = (syntax(case).site(own[0].file, made.lineno), *own[1:])
            return _given(case, at, made.value, far - 1) or at[0]
        if found:
            return None
    return None


def _assignments(scope: ast.AST, name: str) -> Iterator[ast.Assign]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
            yield node


def _handed(case: Case, own: Stack, function: ast.FunctionDef, name: str, far: int) -> Site | None:
    """The line of the call that hands a parameter over, or of its default where no call does."""
    value = handed_in(case, own, function, name)
    if value is not None:
        return _given(case, own[1:], value, far)
    default = _default(function, name)
    return None if default is None else syntax(case).site(own[0].file, default.lineno)


def handed_in(case: Case, own: Stack, function: ast.FunctionDef, name: str) -> ast.expr | None:
    """What the next frame's call gives a parameter of the function in which the innermost frame is. A forward() is
    called by any name: of several calls in one statement it is then the innermost, which runs first.
    """
    names = [one.arg for one in function.args.args]
    position = names.index(name) - (names[:1] == ["self"]) if name in names else None
    called = None if function.name == "forward" else _called_as(case, own[0].file, function)
    for call in reversed(calls_at(case, own[1])) if len(own) > 1 else ():
        value = argument(call, name, position) if called in (None, called_name(call)) else None
        if value is not None:
            return value
    return None


def _called_as(case: Case, file: str, function: ast.FunctionDef) -> str:
    """The name that a call of a function names: of an __init__ its class."""
    owners = [one for one in syntax(case).nodes(file) if isinstance(one, ast.ClassDef) and function in one.body]
    return owners[0].name if owners and function.name == "__init__" else function.name


def _default(function: ast.FunctionDef, name: str) -> ast.expr | None:
    plain = function.args.args
    after = dict(zip(map(_arg, plain[len(plain) - len(function.args.defaults) :]), function.args.defaults, strict=True))
    keyed = dict(zip(map(_arg, function.args.kwonlyargs), function.args.kw_defaults, strict=True))
    return after.get(name) or keyed.get(name)


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.args, *function.args.kwonlyargs]


def _arg(argument: ast.arg) -> str:
    return argument.arg


def argument(call: ast.Call, keyword: str, position: int | None) -> ast.expr | None:
    """What a call gives an argument, by its name or its position."""
    keyed = next((one.value for one in call.keywords if one.arg == keyword), None)
    given = keyed is None and position is not None and 0 <= position < len(call.args)
    return call.args[position] if given and position is not None else keyed


def calls_at(case: Case, site: Site) -> list[ast.Call]:
    """The calls of the statement around a line, the outermost first."""
    statement = syntax(case).statement(site)
    return [node for node in ast.walk(statement) if isinstance(node, ast.Call)] if statement is not None else []
