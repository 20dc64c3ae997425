"""Groups of parameters that are written down for an optimizer and then lost: `group = [...]` for `groups += [...]`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site, user_frames

_KEY = "params"  # of a group, as optimizers want it
_ADDING = ("append", "extend", "insert", "update", "setdefault")
_ALL_NAMES = {"locals", "vars", "exec", "eval", "globals"}
_OF_ALL_LAYERS = {"weight", "bias"}
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Nested = (*_Function, ast.Lambda, ast.ClassDef)
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


@dataclass(frozen=True, slots=True)
class GroupLeftOut:
    """The line that should have added a group to the others; the name that the group lies under, if any.

    `written` is the line of the group: another one where the name is set anew at `site`, or where the others are put
    together there without it (`beside_others`).
    """

    site: Site
    written: Site
    name: str | None
    leaves: tuple[str, ...]
    beside_others: bool


@dataclass(frozen=True, slots=True)
class _Lost:
    """The statements that write a group down, which nothing reads, and the one that should be another."""

    statements: tuple[ast.stmt, ...]
    edited: ast.stmt
    name: str | None = None
    beside_others: bool = False


def groups_left_out(case: Case, unheld: Iterable[str], held: Iterable[str]) -> Iterator[GroupLeftOut]:
    """Those that name modules of which no optimizer holds anything.

    Only in functions that make an optimizer, or that these call: the others need not have run.
    """
    missing, given = tuple(unheld), {part for leaf in held for part in _parts(leaf)}
    known = given - {part for leaf in missing for part in _parts(leaf)}
    for file, scope in scopes(case):
        for lost in _lost(scope):
            words = _words(scope, lost.statements)
            leaves = tuple(leaf for leaf in missing if words & (_parts(leaf) - given))
            if leaves and not words & known:
                written, edited = (syntax(case).site(file, one.lineno) for one in (lost.statements[0], lost.edited))
                yield GroupLeftOut(edited, written, lost.name, leaves, lost.beside_others)


def _parts(leaf: str) -> set[str]:
    """The names of modules in `model.head.0.weight`, and of what is no module's."""
    return {part for part in leaf.split(".") if not part.isdigit()} - _OF_ALL_LAYERS


def scopes(case: Case) -> Iterator[tuple[str, Scope]]:
    """The functions around the lines that made optimizers, and those of the same file that they call by name.

    Of a program of one file its own lines as well: what lies there may be read by whoever imports it.
    """
    seen: set[tuple[str, int]] = set()
    optimizers = dict.fromkeys(look.optimizer for look in case.optimizer_looks())
    for site in (frame for one in optimizers for frame in user_frames(creation(case, one))):
        around = syntax(case).function(site)
        if isinstance(around, ast.Module) and len(syntax(case).files) > 1:
            continue
        calls = (node for node in ast.walk(around) if isinstance(node, ast.Call)) if around is not None else ()
        called = {called_name(call) for call in calls}
        for node in (around, *syntax(case).nodes(site.file)):
            is_met = node is around or (isinstance(node, _Function) and node.name in called)
            key = site.file, getattr(node, "lineno", 0)
            if isinstance(node, Scope) and is_met and key not in seen:
                seen.add(key)
                yield site.file, node


def _lost(scope: Scope) -> Iterator[_Lost]:
    nested = [node for node in ast.walk(scope) if isinstance(node, _Nested) and node is not scope]
    hidden = {name for node in nested for name in _loaded(node)}
    inside = {id(part) for node in nested for part in ast.walk(node)}
    own = [node for node in ast.walk(scope) if id(node) not in inside]
    ends = min((node.lineno for node in own if isinstance(node, ast.Return)), default=None)
    if names_in(scope) & _ALL_NAMES or any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(scope)):
        return
    statements = list(_always_run(scope))
    for at, statement in enumerate(statements):
        if ends is not None and statement.lineno >= ends:
            return
        name = _set_by(statement)
        if _is_thrown_away(statement):
            yield _Lost((statement,), statement)
        elif name is not None and not name.startswith("_") and name not in hidden:
            lost = _lost_under(name, statement, statements[at + 1 :], hidden)
            if lost is not None:
                yield _beside_others(lost, statements)


def _lost_under(name: str, statement: ast.stmt, later: list[ast.stmt], hidden: set[str]) -> _Lost | None:
    """What a name is given with a statement, if nothing reads it before the end, or before the name is set anew."""
    mentions = [one for one in later if name in names_in(one)]
    anew = next((one for one in mentions if _set_by(one) == name and name not in _loaded(one)), None)
    until = mentions if anew is None else mentions[: mentions.index(anew)]
    if any(_is_read(one, name) and not _is_edited_in_turn(one, name, later, hidden) for one in until):
        return None
    written = tuple(one for one in (statement, *until) if any(True for _ in _listed(one)))
    is_instead = anew is not None and any(True for _ in _listed(anew))
    edited = anew if anew is not None and is_instead else written[0] if written else statement
    return _Lost((*written, *(one for one in until if one not in written)), edited, name) if written else None


def _is_edited_in_turn(loop: ast.stmt, name: str, later: list[ast.stmt], hidden: set[str]) -> bool:
    """`for group in (encoder, head): group["lr"] = ...`: what the loop calls each is read by nothing else."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, (ast.Tuple, ast.List)):
        return False
    if not isinstance(loop.target, ast.Name) or not all(isinstance(one, ast.Name) for one in loop.iter.elts):
        return False
    each, inside = loop.target.id, (*loop.body, *loop.orelse)
    others = (one for one in later if one is not loop and each in names_in(one))
    return (
        each not in hidden
        and not any(name in names_in(one) or _is_read(one, each) for one in inside)
        and all(isinstance(one, ast.For) and ast.unparse(one.target) == each for one in others)
    )


def _beside_others(lost: _Lost, statements: list[ast.stmt]) -> _Lost:
    """At the only list that has other groups by their names: `groups = [encoder, calendar]`, below all of them."""
    at = statements.index(lost.statements[0])
    groups = {_set_by(one) for one in statements if any(True for _ in _listed(one))}
    lists = [one for one in statements[at + 1 :] if not isinstance(one, ast.For) and _lists(one, groups - {lost.name})]
    if len(lists) != 1 or lost.edited is not lost.statements[0]:
        return lost
    return replace(lost, edited=lists[0], beside_others=True)


def _lists(statement: ast.stmt, names: set[str | None]) -> bool:
    """Whether a statement writes down a list of nothing but such names."""
    found = (one.elts for one in ast.walk(statement) if isinstance(one, ast.List) and one.elts)
    return any(all(isinstance(one, ast.Name) and one.id in names for one in elements) for elements in found)


def _always_run(scope: Scope) -> Iterator[ast.stmt]:
    """The statements of a function that stand in no branch and no loop."""
    waiting: list[ast.stmt] = list(reversed(scope.body))
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.With):
            waiting += reversed(statement.body)
        elif not isinstance(statement, _Nested):
            yield statement


def _set_by(statement: ast.stmt) -> str | None:
    """The only name that a statement gives a value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _is_thrown_away(statement: ast.stmt) -> bool:
    """`groups + [{"params": ...}]`, which changes nothing."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, (ast.BinOp, ast.List, ast.Dict)) and any(True for _ in _listed(value))


def _listed(node: ast.AST) -> Iterator[ast.AST]:
    """What the groups that a statement writes down hold."""
    places = {id(place) for place in map(_place, ast.walk(node)) if place is not None}
    for one in ast.walk(node):
        if isinstance(one, ast.Dict):
            pairs = zip(one.keys, one.values, strict=True)
            yield from (held for key, held in pairs if isinstance(key, ast.Constant) and key.value == _KEY)
        elif isinstance(one, ast.keyword) and one.arg == _KEY:
            yield one.value
        elif id(one) in places and isinstance(one, ast.Subscript) and ast.unparse(one.slice) == repr(_KEY):
            yield node  # `group["params"].append(...)`: what is around it says which


def _is_read(statement: ast.stmt, name: str) -> bool:
    """Whether a statement does anything with a name but to set it and to add to it."""
    added = {id(owner) for owner in map(_added_to, ast.walk(statement)) if owner is not None}
    uses = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name)
    return any(not isinstance(node.ctx, ast.Store) and id(node) not in added for node in uses)


def _added_to(node: ast.AST) -> ast.expr | None:
    """The name of `groups.append(...)` as a statement, of `group["lr"] = ...`, or of both in one."""
    place = _place(node)
    return place.value if isinstance(place, ast.Subscript) else place


def _place(node: ast.AST) -> ast.expr | None:
    """What a statement appends to, or the key that it sets."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return targets[0] if len(targets) == 1 and isinstance(targets[0], ast.Subscript) else None
    method = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return method.value if isinstance(method, ast.Attribute) and method.attr in _ADDING else None


def _loaded(node: ast.AST) -> set[str]:
    """The names that are read."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _words(scope: Scope, statements: Iterable[ast.stmt]) -> set[str]:
    """All names, attributes and words in what a group holds, and in what its names were given before."""
    found: set[str] = set()
    waiting: list[tuple[ast.AST, int]] = [(held, one.lineno) for one in statements for held in _listed(one)]
    seen: set[int] = set()
    while waiting:
        node, line = waiting.pop()
        for one in ast.walk(node):
            if isinstance(one, ast.Attribute):
                found.add(one.attr)
            elif isinstance(one, ast.Constant) and isinstance(one.value, str):
                found |= set(one.value.split("."))
            elif isinstance(one, ast.Name):
                found.add(one.id)
                before = _given_before(scope, one.id, line)
                if before is not None and before.lineno not in seen:
                    seen.add(before.lineno)
                    waiting.append((before.value, before.lineno))
    return found


def _given_before(scope: Scope, name: str, line: int) -> ast.Assign | None:
    """The last assignment above a line that gives a name its value."""
    above = (node for node in ast.walk(scope) if isinstance(node, ast.Assign) and node.lineno < line)
    return max((node for node in above if name in names_in(*node.targets)), key=lambda one: one.lineno, default=None)
