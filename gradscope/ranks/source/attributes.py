"""What an attribute of the program's own classes goes back to: a property, the body of the class, or the one line that
sets it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeGuard

from gradscope.functions.source import called_name, is_attribute_of
from gradscope.model.site import Site
from gradscope.ranks.source.given import Frame, bound_in, passed_to
from gradscope.ranks.source.syntax import Function, function_around, nodes_of, statements, tree_of
from gradscope.store.reader import Recording

_PROPERTIES = frozenset(("property", "cached_property"))
_FACTORY = "default_factory"
_LONGEST = 8  # names on the way to what makes an object

Found = tuple[list[Frame], ast.expr]


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the program's, and its file."""

    file: str
    tree: ast.Module
    node: ast.ClassDef


def kept_in(recording: Recording, frames: list[Frame], node: ast.AST) -> list[Found]:
    """The values that an attribute may have, with the functions in which they stand; none where that is not known."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return []
    own = class_of(recording, frames, node.value)
    if own is None and not is_attribute_of(node, "self"):
        return []
    returned = [] if own is None else _by_property(own, node.attr, frames)
    set_at = [] if returned else list(_set(recording, own, node.attr))
    if own is not None and not set_at:
        return returned or _by_field(recording, own, node.attr, of_class=ast.unparse(node.value) == own.node.name)
    if len(set_at) != 1:
        return []
    site, value = set_at[0]
    tree = tree_of(recording, site)
    function = function_around(tree, site.line)
    if function is None:
        return []
    frame = Frame(replace(site, function=function.name), tree, function)
    return [([frame, *_makers(recording, frame)], value)]


def _set(recording: Recording, own: Class | None, name: str) -> list[tuple[Site, ast.expr]]:
    """The lines that set an attribute of a name: of a class, where its methods do, and from outside; else of any."""
    found: dict[bool, list[tuple[Site, ast.expr]]] = {True: [], False: []}
    outside: list[tuple[Site, ast.expr]] = []
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1, ""))
        inside = [] if own is None else [one for one in nodes_of(tree) if _is_of(one, own)]
        of_class = {one.lineno for each in inside for one in ast.walk(each) if isinstance(one, ast.stmt)}
        for line, target, value in _assigned(tree):
            if target.attr == name and is_attribute_of(target, "self"):
                found[line in of_class].append((Site(file, line), value))
            elif target.attr == name:
                outside.append((Site(file, line), value))
    return [*(found[True] or found[False]), *outside]


def _trees(recording: Recording) -> Iterator[ast.Module]:
    return (tree_of(recording, Site(file, 1, "")) for file in sorted(recording.sources()))


def _is_of(node: ast.AST, own: Class) -> TypeGuard[ast.ClassDef]:
    """Whether a node is a class, or one that is derived from it."""
    if not isinstance(node, ast.ClassDef):
        return False
    return node.name == own.node.name or own.node.name in map(ast.unparse, node.bases)


def _names_of(recording: Recording, own: Class) -> set[str]:
    """The names of a class and of those that are derived from it."""
    return {one.name for each in _trees(recording) for one in ast.walk(each) if _is_of(one, own)}


def _assigned(tree: ast.Module) -> Iterator[tuple[int, ast.Attribute, ast.expr]]:
    """The lines that assign attributes, and what they assign."""
    for one in nodes_of(tree):
        if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign) and one.value is not None:
            for target in one.targets if isinstance(one, ast.Assign) else [one.target]:
                for each, value in _pairs(target, one.value):
                    if isinstance(each, ast.Attribute):
                        yield one.lineno, each, value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned to what: one by one where there are as many."""
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else []
    yield from zip(targets, values if len(values) == len(targets) else [value] * len(targets), strict=True)


def class_of(recording: Recording, frames: list[Frame], value: ast.expr) -> Class | None:
    """The class of the program's that an object is made of, or in a method of which `self` stands."""
    for _ in range(_LONGEST):
        if isinstance(value, ast.Call):
            return _class_named(recording, called_name(value))
        if not isinstance(value, ast.Name) or not frames:
            return None
        if value.id == "self":
            return class_around(frames[0])
        bound = bound_in(frames[0], value.id, frames[0].site.line)
        passed = passed_to(frames, 0, value.id) if bound is None else None
        if bound is None and passed is None:
            return _class_named(recording, value.id)
        frames, value = (frames, bound[1]) if bound is not None else (frames[1:], passed or value)
    return None


def _class_named(recording: Recording, name: str | None) -> Class | None:
    found = [
        Class(file, tree_of(recording, Site(file, 1, "")), node)
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1, ""))
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return found[0] if len(found) == 1 else None


def class_around(frame: Frame) -> Class | None:
    """The class that has a function among its methods."""
    name = getattr(frame.function, "name", None)
    line = getattr(frame.function, "lineno", 0)
    for node in nodes_of(frame.tree):
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, Function)]
            if any((one.name, one.lineno) == (name, line) for one in methods):
                return Class(frame.site.file, frame.tree, node)
    return None


def is_of_a_module(frame: Frame) -> bool:
    """Whether a function is a method of a class that has a forward."""
    own = class_around(frame)
    return own is not None and any(isinstance(one, Function) and one.name == "forward" for one in own.node.body)


def _by_property(own: Class, name: str, frames: list[Frame]) -> list[Found]:
    """What a property returns."""
    for one in own.node.body:
        if isinstance(one, Function) and one.name == name and _is_property(one):
            values = [node.value for node in ast.walk(one) if isinstance(node, ast.Return) and node.value is not None]
            around = (Frame(Site(own.file, value.lineno, name), own.tree, one) for value in values)
            return [([frame, *frames], value) for frame, value in zip(around, values, strict=True)]
    return []


def _is_property(function: Function) -> bool:
    names = (ast.unparse(one).rpartition(".")[2] for one in function.decorator_list)
    return any(name in _PROPERTIES for name in names)


def _by_field(recording: Recording, own: Class, name: str, of_class: bool) -> list[Found]:
    """What the body of a class gives a name, where its objects are made, without another value for it."""
    fields = [one for one in own.node.body if isinstance(one, ast.AnnAssign | ast.Assign)]
    names = [ast.unparse(one.targets[0] if isinstance(one, ast.Assign) else one.target) for one in fields]
    value = fields[names.index(name)].value if name in names else None
    makers = [call for _, _, call in calls_of(recording, *_names_of(recording, own))]
    given = any(_gives(call, names.index(name), name) for call in makers) if value is not None else False
    if value is None or given or not (makers or of_class) or _set_by_name(recording, name):
        return []
    frame = Frame(Site(own.file, value.lineno, own.node.name), own.tree, own.tree)
    return [([frame], _made_by(value))]


def _made_by(value: ast.expr) -> ast.expr:
    """A call of the factory in a field, by a name: a lambda is one that can be looked into."""
    given = [one.value for one in value.keywords if one.arg == _FACTORY] if isinstance(value, ast.Call) else []
    if not given:
        return value
    factory = given[0]
    if isinstance(factory, ast.Lambda):
        return factory.body
    return ast.copy_location(ast.Call(func=factory, args=[], keywords=[]), factory)


def _gives(call: ast.Call, at: int, name: str) -> bool:
    """Whether a call may give a field, by its place or its name."""
    spread = any(isinstance(one, ast.Starred) for one in call.args)
    return spread or len(call.args) > at or any(one.arg in (None, name) for one in call.keywords)


def _set_by_name(recording: Recording, name: str) -> bool:
    """Whether setattr() is given the name, of whatever object."""
    calls = (one for _, _, one in calls_of(recording, "setattr", "__setattr__"))
    return any(isinstance(one, ast.Constant) and one.value == name for call in calls for one in call.args)


def _makers(recording: Recording, frame: Frame) -> list[Frame]:
    """The functions that lead to the one object of a class, to whose __init__ a frame belongs: each is called once.
    None where other classes are derived from it, of which the object may be."""
    own = class_around(frame) if getattr(frame.function, "name", "") == "__init__" else None
    name = None if own is None or len(_names_of(recording, own)) > 1 else own.node.name
    found: list[Frame] = []
    while name is not None and len(found) < _LONGEST:
        calls = list(calls_of(recording, name))
        if len(calls) != 1:
            break
        file, tree, call = calls[0]
        function = function_around(tree, call.lineno)
        name = None if function is None else function.name
        found.append(Frame(Site(file, call.lineno, name or "<module>"), tree, function or tree))
    return found


def calls_of(recording: Recording, *names: str) -> Iterator[tuple[str, ast.Module, ast.Call]]:
    """The calls of what has one of some names, with their files."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1, ""))
        calls = (node for node in nodes_of(tree) if isinstance(node, ast.Call))
        yield from ((file, tree, call) for call in calls if called_name(call) in names)
