"""A condition that goes by a count of the program's own, which goes on under another condition alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import Function, nodes_of, tree_of
from gradscope.store.reader import Recording

_Place = ast.Name | ast.Attribute


def goes_by_an_own_count(recording: Recording, stack: Stack, condition: Site) -> bool:
    """Whether a condition asks for what is counted under another one: an attribute anywhere in the program, a variable
    in the condition's own function."""
    frame, test = _asked(recording, stack, condition)
    if frame is None or test is None:
        return False
    asked = {_named(node) for node in ast.walk(test) if isinstance(node, _Place) and isinstance(node.ctx, ast.Load)}
    trees = [tree_of(recording, Site(file, 1, "")) for file in sorted(recording.sources())]
    functions = [node for tree in trees for node in nodes_of(tree) if isinstance(node, Function)]
    counted = {each for function in functions for each in _counted(function) if isinstance(each, ast.Attribute)}
    own = {each for each in _counted(frame.function) if isinstance(each, ast.Name)}
    return any(_named(each) in asked for each in counted | own)


def goes_by_the_trip(recording: Recording, stack: Stack, condition: Site) -> bool:
    """Whether a condition takes the number of a loop's trip by a modulus, and asks for nothing else that varies: ranks
    that are in one trip come to the same."""
    frame, test = _asked(recording, stack, condition)
    if frame is None or test is None or any(isinstance(node, ast.Call) for node in ast.walk(test)):
        return False
    moduli = [node for node in ast.walk(test) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)]
    trips = set(_trips(frame.function))
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    counted = {name.id for node in moduli for name in ast.walk(node.left) if isinstance(name, ast.Name)}
    return bool(counted) and counted <= trips and not (names - trips) & set(_bound(frame.function))


def _asked(recording: Recording, stack: Stack, condition: Site) -> tuple[Frame | None, ast.expr | None]:
    """The function of a condition, and what that asks."""
    place = condition.file, condition.function
    frame = next((one for one in frames_of(recording, stack) if (one.site.file, one.site.function) == place), None)
    ifs = [] if frame is None else [node for node in ast.walk(frame.function) if isinstance(node, ast.If)]
    return frame, next((node.test for node in ifs if node.lineno == condition.line), None)


def _trips(function: ast.AST) -> Iterator[str]:
    """The names that count the trips of a function's loops, and are bound by nothing else in it."""
    bound = list(_bound(function))
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For)):
        called = called_name(loop.iter) if isinstance(loop.iter, ast.Call) else ""
        pair = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
        counter = loop.target if called in ("range", "trange") else pair[0] if called == "enumerate" and pair else None
        if isinstance(counter, ast.Name) and bound.count(counter.id) == 1:
            yield counter.id


def _bound(function: ast.AST) -> Iterator[str]:
    """The names that a function binds."""
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    yield from (node.id for node in nodes if isinstance(node.ctx, ast.Store))


def _counted(function: ast.AST) -> Iterator[ast.expr]:
    """What a function adds to in an arm of a condition."""
    for branch in (node for node in ast.walk(function) if isinstance(node, ast.If)):
        inside = (one for part in (*branch.body, *branch.orelse) for one in ast.walk(part))
        yield from (one.target for one in inside if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add))


def _named(node: ast.expr) -> str:
    return f".{node.attr}" if isinstance(node, ast.Attribute) else ast.unparse(node)


def asks_for_a_count(recording: Recording, value: ast.expr) -> bool:
    """Whether a value is the rest of a division, or compares what a program counts: trips of a loop, or what it adds
    to."""
    rest = any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in ast.walk(value))
    compared = (node for node in ast.walk(value) if isinstance(node, ast.Compare))
    asked = {_named(each) for node in compared for each in (node.left, *node.comparators) if isinstance(each, _Place)}
    return rest or bool(asked & set(_all_counted(recording)))


def _all_counted(recording: Recording) -> Iterator[str]:
    """What functions of a program count, anywhere."""
    trees = [tree_of(recording, Site(file, 1, "")) for file in sorted(recording.sources())]
    for node in (node for tree in trees for node in nodes_of(tree)):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, _Place):
            yield _named(node.target)
        if isinstance(node, Function):
            yield from _trips(node)
