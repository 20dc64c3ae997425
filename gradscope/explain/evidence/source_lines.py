"""Reads the recorded source of a line: what it edits, what a method returns. Answers None where it cannot tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_QUOTES = "\"'"


def at(case: Case, site: Site | None) -> Iterator[ast.AST]:
    """The nodes of the syntax tree that begin at a line."""
    if site is not None:
        yield from syntax(case).parsed(site.file).beginning.get(site.line, ())


def edited(case: Case, site: Site | None) -> str | None:
    """What a line edits in place, as it is written there: `h`, `self.state[0]`."""
    return next((found for found in map(edits, at(case, site)) if found is not None), None)


def edits(node: ast.AST) -> str | None:
    """What a statement or a call edits in place, as it is written there."""
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return ast.unparse(node.targets[0].value)
    return _edited_by_call(node) if isinstance(node, ast.Call) else None


def rewritten(case: Case, site: Site | None) -> str | None:
    """An augmented assignment written out, which edits nothing: `h = h + 1` for `h += 1`."""
    for node in at(case, site):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, (ast.Name, ast.Attribute)):
            target = ast.parse(ast.unparse(node.target), mode="eval").body
            return f"{ast.unparse(node.target)} = {ast.unparse(ast.BinOp(target, node.op, node.value))}"
    return None


def assigned(case: Case, site: Site | None) -> str | None:
    """The name that a line gives to what it computes: `state`, `self.cache`, the last of several; None where each of
    several is made by the same expression."""
    for node in at(case, site):
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, (ast.GeneratorExp, ast.ListComp)):
                return None
            last = target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target
            return ast.unparse(last)
        if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            return ast.unparse(node.target)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.register_buffer" and node.args:
            return f"self.{ast.unparse(node.args[0]).strip(_QUOTES)}"
    return None


def enclosing(case: Case, site: Site | None) -> Definition | None:
    """The innermost function around a line."""
    if site is None:
        return None
    around = [
        node
        for node in syntax(case).nodes(site.file)
        if isinstance(node, Definition) and node.lineno <= site.line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: (node.lineno, isinstance(node, ast.Lambda)), default=None)


def class_at(case: Case, site: Site | None) -> ast.ClassDef | None:
    """The class whose definition, or first decorator, stands at a line."""
    for node in () if site is None else syntax(case).nodes(site.file):
        if isinstance(node, ast.ClassDef) and site is not None:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= site.line <= node.lineno:
                return node
    return None


def class_around(case: Case, site: Site) -> ast.ClassDef | None:
    """The innermost class around a line."""
    around = (node for node in syntax(case).nodes(site.file) if isinstance(node, ast.ClassDef))
    inside = [node for node in around if node.lineno <= site.line <= (node.end_lineno or node.lineno)]
    return max(inside, key=lambda node: node.lineno, default=None)


def method(owner: ast.ClassDef | None, name: str) -> ast.FunctionDef | None:
    """A method of a class."""
    found = owner.body if owner is not None else ()
    return next((node for node in found if isinstance(node, ast.FunctionDef) and node.name == name), None)


def line(case: Case, file: str, number: int, function: str = "") -> Site:
    """A line of a recorded file."""
    text = syntax(case).line(file, number)
    return Site(file, number, function, None if text is None else text.strip())


def head(case: Case, site: Site) -> Site:
    """The first line of the assignment that a line is a part of; else the line itself."""
    statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
    is_part = isinstance(statement, ast.Assign) and statement.lineno < site.line
    return line(case, site.file, statement.lineno, site.function) if statement is not None and is_part else site


def _beginning(owner: ast.expr) -> ast.expr:
    """`x` of `x.mul_(2).add_(1)`: what edits in place returns what it edits."""
    while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr.endswith("_"):
        owner = owner.func.value
    return owner


def _edited_by_call(call: ast.Call) -> str | None:
    for keyword in call.keywords:
        if keyword.arg == "out":
            return ast.unparse(keyword.value)
    function = call.func
    if isinstance(function, ast.Attribute):
        if function.attr.endswith("_") and not function.attr.startswith("_"):
            owner = ast.unparse(_beginning(function.value))
            from_a_module = owner in ("F", "torch", "nn.functional", "torch.nn.functional", "init", "nn.init")
            return ast.unparse(call.args[0]) if from_a_module and call.args else owner
        if any(one.arg == "inplace" for one in call.keywords) and call.args:
            return ast.unparse(call.args[0])
    return None
