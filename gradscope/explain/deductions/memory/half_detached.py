"""The line that detaches one part of a state and leaves another as it is: `hidden.detach(), cell`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.memory.shared_subgraph import SharedSubgraph
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames

_ANEW = ("_replace", "replace", "evolve", "copy")


@dataclass(frozen=True, slots=True)
class HalfDetached:
    """A line that detaches a part of a state; `bare` is the part that is handed on beside it as it was."""

    site: Site
    bare: str


def half_detached(case: Case, name: str | None) -> Site | None:
    """The only line that puts a tuple under a name, parts of which are detached and others, of the same kind, not."""
    found = [site for file in syntax(case).files for site in _half_detached(case, file, name)] if name else []
    return found[0] if len(found) == 1 else None


def _half_detached(case: Case, file: str, name: str | None) -> Iterator[Site]:
    for node in syntax(case).nodes(file):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            detached = [_is_detach(one) for one in node.value.elts]
            rest = [one for one in node.value.elts if not _is_detach(one)]
            plain = all(isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) for one in rest)
            if any(detached) and rest and plain and any(ast.unparse(target) == name for target in node.targets):
                yield syntax(case).site(file, node.lineno)


def _is_detach(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"


def sibling_detached(case: Case, call: Backward, found: SharedSubgraph) -> HalfDetached | None:
    """The only line, of those that ran between both calls, that detaches a part of what is carried over, where another
    part of the same tuple goes on in the same tuple as it was.

    The tuple is one that a line of the carried value's stack gave its name to.
    """
    between = (block for block in case.blocks() if found.first.started < block.started < call.started)
    operations = (one for block in between if block.backward is None for one in block.operations)
    lines = dict.fromkeys(user_frames(one.stack)[:2] for one in operations if base_name(one.name) == "detach")
    halves = {half for frames in lines for half in _halves(case, frames, found.carried.stack)}
    halves = halves or {half for frames in lines for half in _in_displays(case, frames, found.carried.stack)}
    halves = halves or {half for frames in lines for half in _in_wholes(case, frames, found.carried.stack)}
    return halves.pop() if len(halves) == 1 else None


def _halves(case: Case, frames: Stack, carried: Stack) -> Iterator[HalfDetached]:
    """The parts that go on as they were beside one that is detached at the first of these lines, which the second
    called."""
    statement = _statement(case, frames[0]) if frames else None
    scope = syntax(case).function(frames[0]) if frames else None
    if statement is None or scope is None:
        return
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)]
    rebound = {name for name in targets(statement) if any(_is_detached(one, name) for one in calls)}
    for unpacks in ast.walk(scope):
        if isinstance(unpacks, ast.Assign) and _is_carried(case, unpacks, scope, frames, carried):
            parts = [name for place in unpacks.targets for name in _parts(place)]
            for bare in parts:
                others = {one for one in parts if one != bare}
                if bare not in rebound and _goes_along(scope, statement, bare, others, rebound & others):
                    yield HalfDetached(frames[0], bare)


def _in_displays(case: Case, frames: Stack, carried: Stack) -> Iterator[HalfDetached]:
    """What stands as it was beside what is detached, on a line: `[(h.detach(), c) for h, c in states]`."""
    statement = _statement(case, frames[0]) if frames else None
    scope = syntax(case).function(frames[0]) if frames else None
    if statement is None or not _named_at(case, frames) & _given_names(case, carried):
        return  # halves of something else
    for display in ast.walk(statement):
        parts = _elements(display)
        calls = [one.func for one in parts if isinstance(one, ast.Call) and _is_detach(one)]
        owners = [one.value for one in calls if isinstance(one, ast.Attribute)]
        for bare in parts:
            if any(_belong_together(scope or statement, owner, bare) for owner in owners):
                yield HalfDetached(frames[0], ast.unparse(bare))


def _in_wholes(case: Case, frames: Stack, carried: Stack) -> Iterator[HalfDetached]:
    """Where one part of a whole is detached and the rest goes on in it: `state._replace(volt=state.volt.detach())`."""
    statement = _statement(case, frames[0]) if frames else None
    if statement is None or not _named_at(case, frames) & _given_names(case, carried):
        return
    bare = _innermost_name(case, carried)
    for node in ast.walk(statement):
        part = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        is_part = isinstance(part, ast.Attribute | ast.Subscript) and isinstance(node, ast.expr) and _is_detach(node)
        if not is_part or not isinstance(part, ast.Attribute | ast.Subscript) or _key(part) == bare:
            continue
        if ast.unparse(part.value) != "self" and _keeps_the_rest(statement, part):
            yield HalfDetached(frames[0], bare or ast.unparse(part.value))


def _innermost_name(case: Case, carried: Stack) -> str:
    """The name that a value has where it is made; nothing where it has none there."""
    made = next((_statement(case, site) for site in user_frames(carried)), None)
    places = made.targets if isinstance(made, ast.Assign) else []
    return next((last_name(one) for one in places if isinstance(one, ast.Name | ast.Attribute)), "")


def _key(part: ast.Attribute | ast.Subscript) -> str:
    """`volt` of `state.volt` and of `state["volt"]`."""
    if isinstance(part, ast.Attribute):
        return part.attr
    return str(part.slice.value) if isinstance(part.slice, ast.Constant) else ""


def _keeps_the_rest(statement: ast.stmt, part: ast.Attribute | ast.Subscript) -> bool:
    """Whether a statement makes a whole anew of itself and of one part, or gives it back that part."""
    whole = ast.unparse(part.value)
    if isinstance(statement, ast.Assign) and any(ast.unparse(one) == ast.unparse(part) for one in statement.targets):
        return True
    return any(whole in _wholes(one) for one in ast.walk(statement))


def _wholes(node: ast.AST) -> set[str]:
    """What is copied with some parts anew: by `_replace()`, `replace()`, `{**whole, ...}`, `dict(whole, ...)`."""
    if isinstance(node, ast.Dict):
        return {ast.unparse(one) for key, one in zip(node.keys, node.values, strict=True) if key is None}
    if isinstance(node, ast.BinOp):
        return {ast.unparse(node.left)} if isinstance(node.op, ast.BitOr) else set()
    if not isinstance(node, ast.Call) or not (node.keywords or isinstance(node.func, ast.Attribute)):
        return set()
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ANEW and node.keywords:
        return {ast.unparse(node.func.value), *map(ast.unparse, node.args[:1])}
    copies = last_name(node.func) in ("replace", "dict", "evolve")
    return {*map(ast.unparse, node.args[:1])} if copies and node.keywords else set()


def _named_at(case: Case, frames: Stack) -> set[str]:
    """The names of variables and attributes in some statements."""
    found = (one for site in frames for one in ast.walk(_statement(case, site) or ast.Pass()))
    return {last_name(one) for one in found if isinstance(one, ast.Name | ast.Attribute)} - {"self"}


def _given_names(case: Case, carried: Stack) -> set[str]:
    """The names under which the lines of a stack put what they made: `memory` of `self.memory[i] = ...`."""
    made = (_statement(case, site) for site in user_frames(carried))
    places = (place for each in made if isinstance(each, ast.Assign) for place in each.targets)
    found = (one for place in places for one in ast.walk(place))
    return {last_name(one) for one in found if isinstance(one, ast.Name | ast.Attribute)} - {"self"}


def _elements(display: ast.AST) -> list[ast.expr]:
    if isinstance(display, ast.Dict):
        return display.values
    if isinstance(display, ast.Call):
        return [*display.args, *(one.value for one in display.keywords)]
    return display.elts if isinstance(display, ast.Tuple | ast.List) else []


def _belong_together(scope: ast.AST, one: ast.expr, other: ast.expr) -> bool:
    """Whether two are parts of one value: taken from it, or bound with each other by a loop or a comprehension."""
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        loops = (each.target for each in ast.walk(scope) if isinstance(each, ast.For | ast.comprehension))
        groups = (set(_parts(each)) for each in loops)
        return one.id != other.id and any({one.id, other.id} <= group for group in groups)
    if not isinstance(one, ast.Attribute | ast.Subscript) or type(one) is not type(other):
        return False
    whole, theirs = ast.unparse(one.value), ast.unparse(getattr(other, "value", other))
    return whole == theirs != "self" and ast.unparse(one) != ast.unparse(other)


def _parts(place: ast.expr) -> list[str]:
    """The names of a tuple of names, or of the one that stands in a tuple: `output, (hidden, cell)`."""
    if not isinstance(place, ast.Tuple):
        return []
    inner = [name for one in place.elts for name in _parts(one)]
    return inner or [one.id for one in place.elts if isinstance(one, ast.Name)]


def _is_carried(case: Case, unpacks: ast.Assign, scope: ast.AST, frames: Stack, carried: Stack) -> bool:
    """Whether an assignment made what is carried over, or takes apart what one that made it gave its name to."""
    made = [statement for site in user_frames(carried) if (statement := _statement(case, site)) is not None]
    if not isinstance(unpacks.value, ast.Name | ast.Attribute):
        return unpacks in made
    names = {last_name(unpacks.value)}
    handed = [one.arg for one in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    caller = _statement(case, frames[1]) if len(frames) > 1 else None
    if isinstance(scope, ast.FunctionDef) and caller is not None and last_name(unpacks.value) in handed:
        calls = (one for one in ast.walk(caller) if isinstance(one, ast.Call) and called_name(one) == scope.name)
        names = {last_name(given) for call in calls for given in call.args}
    places = [place for each in made if isinstance(each, ast.Assign) for place in each.targets]
    stored = (one for place in places for one in ast.walk(place) if isinstance(getattr(one, "ctx", None), ast.Store))
    return any(last_name(one) in names - {""} for one in stored)


def _goes_along(scope: ast.AST, here: ast.stmt, bare: str, others: set[str], rebound: set[str]) -> bool:
    """Whether all that is done with a part is to hand it on, as it is, beside one that is detached in a statement."""
    reads = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == bare and _is_read(one)]
    along = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and _has(one.args, rebound)]
    tuples = [one for one in ast.walk(scope) if isinstance(one, ast.Tuple) and _is_read(one)]
    detached = [one for one in ast.walk(here) if isinstance(one, ast.Tuple) and _has_detached(one.elts, others)]
    beside = [one.args for one in along]
    beside += [one.elts for one in tuples if _has(one.elts, rebound) or one in detached]
    handed = [one for elements in beside for one in elements if isinstance(one, ast.Name) and one.id == bare]
    return 0 < len(reads) == len(handed)


def _has(elements: list[ast.expr], names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in elements)


def _has_detached(elements: list[ast.expr], names: set[str]) -> bool:
    return any(_is_detached(one, name) for one in elements for name in names)


def _is_detached(node: ast.AST, name: str) -> bool:
    """`name.detach()`"""
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return isinstance(node, ast.expr) and _is_detach(node) and isinstance(owner, ast.Name) and owner.id == name


def _is_read(node: ast.Name | ast.Tuple) -> bool:
    return isinstance(node.ctx, ast.Load)


def _statement(case: Case, site: Site) -> ast.stmt | None:
    return syntax(case).parsed(site.file).whole_statements.get(site.line)
