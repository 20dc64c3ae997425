"""The lines of a program that thaw whole modules, where it has no other by which one parameter may have been thawed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.states.frozen_constants import is_own
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name, last_name, names_in
from gradscope.model.site import Site
from gradscope.model.training import LEARN

_PARAMETERS = ("parameters", "named_parameters")
_PARTS = (*_PARAMETERS, "modules", "named_modules", "children", "named_children")
_JOINS = ("cat", "concat", "concatenate", "stack", "einsum", "hstack", "vstack")
_FLAG, _SETTER = "requires_grad", "requires_grad_"


def thaws_of_modules(case: Case, attribute: str) -> list[Site]:
    """Such lines; none where something else may name, or choose, a parameter of that name."""
    modules = {call.site for timeline in timelines(case) for _, call in timeline.of(LEARN)}
    found = list[Site]()
    for file in syntax(case).files:
        for node, receiver, value in _thaws(syntax(case).nodes(file)):
            site = syntax(case).site(file, getattr(node, "lineno", 1))
            loops = _loops(case, site)
            over = [one for one in loops if last_name(receiver) in names_in(one.target)]
            if last_name(receiver) == attribute or _is_chosen(loops, value):
                return []
            if over and not _calls(over[-1].iter, _PARAMETERS):
                return []
            if over or any(one is not None and (one.file, one.line) == (file, site.line) for one in modules):
                found.append(site)
            elif _asks_for_parameters(receiver):
                return []
    return [] if is_named(case, attribute, ast.Attribute) else found


def is_named(case: Case, name: str, *kinds: type[ast.expr]) -> bool:
    """Whether a program takes what it calls so in hand: gives it a name, lists it, hands it on, or spells it."""
    return any(_names(syntax(case).nodes(file), name, kinds) for file in syntax(case).files)


def _thaws(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, ast.expr, ast.expr | None]]:
    """Where something may be told to require grad: the statement or call, what is told, and the value."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            for place in node.targets:
                if isinstance(place, ast.Attribute) and place.attr == _FLAG and not _is_false(node.value):
                    yield node, place.value, node.value
        elif isinstance(node, ast.Call) and called_name(node) == _SETTER and isinstance(node.func, ast.Attribute):
            given = [*node.args, *(one.value for one in node.keywords)]
            if not any(map(_is_false, given)):
                yield node, node.func.value, given[0] if given else None
        elif isinstance(node, ast.Call) and called_name(node) == "setattr" and len(node.args) == 3:
            sets = _is_text(node.args[1], _FLAG) and not _is_false(node.args[2])
            yield from [(node, node.args[0], node.args[2])] if sets else []


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.rpartition(".")[2] == text


def _loops(case: Case, site: Site) -> list[ast.For]:
    """The loops around a line in its function, the outermost first."""
    function = syntax(case).function(site)
    around = (one for one in ast.walk(function) if isinstance(one, ast.For)) if function is not None else ()
    return [one for one in around if one.lineno <= site.line <= (one.end_lineno or one.lineno)]


def _calls(node: ast.AST, names: tuple[str, ...]) -> bool:
    return any(isinstance(one, ast.Call) and called_name(one) in names for one in ast.walk(node))


def _is_chosen(loops: list[ast.For], value: ast.expr | None) -> bool:
    """Whether a loop over parts of a model asks what it has come to, its name or its kind."""
    over = [one for one in loops if _calls(one.iter, _PARTS)]
    variables = {name for one in over for name in names_in(one.target)}
    inside = [node for loop in over for node in ast.walk(loop)]
    tests = [node.test for node in inside if isinstance(node, ast.If | ast.IfExp)]
    tests += [test for node in inside if isinstance(node, ast.comprehension) for test in node.ifs]
    filtered = any(isinstance(node, ast.comprehension) and node.ifs for one in over for node in ast.walk(one.iter))
    return filtered or not variables.isdisjoint(names_in(value, *tests))


def _asks_for_parameters(receiver: ast.expr) -> bool:
    """Whether what is told to require grad is picked out of a model: by get_parameter(), getattr() or its place."""
    return any("param" in one or one == "getattr" for one in _words(receiver))


def _words(node: ast.AST) -> Iterator[str]:
    return (last_name(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute))


def _names(nodes: tuple[ast.AST, ...], name: str, kinds: tuple[type[ast.expr], ...]) -> bool:
    joined = {id(one) for node in nodes if isinstance(node, ast.Call) for one in _joined(node)}
    for node in nodes:
        if id(node) in joined or (isinstance(node, ast.Call) and called_name(node) == "register_parameter"):
            joined |= {id(one) for one in ast.iter_child_nodes(node)}
            continue
        if id(node) not in joined and _is_text(node, name):
            return True
        if any(isinstance(one, kinds) and last_name(one) == name for one in _handed(node)):
            return True
    return False


def _joined(call: ast.Call) -> Iterator[ast.AST]:
    """What a call of torch's puts together: a list of values, and none of parameters."""
    return iter(call.args if called_name(call) in _JOINS else ())


def _handed(node: ast.AST) -> Iterator[ast.expr]:
    """What a node gives a name, holds in a list, hands to a function of the program's, or goes over."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from node.values
    elif isinstance(node, ast.Assign | ast.Return | ast.Yield | ast.NamedExpr | ast.For):
        value = node.iter if isinstance(node, ast.For) else node.value
        if value is not None:
            yield value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        given = (*node.args, *(one.value for one in node.keywords))
        yield from (one for one in given if node.func.id != "print" and not is_own(one, last_name(one)))
    elif (
        isinstance(node, ast.Call) and called_name(node) in (*_PARTS, _SETTER) and isinstance(node.func, ast.Attribute)
    ):
        yield node.func.value
