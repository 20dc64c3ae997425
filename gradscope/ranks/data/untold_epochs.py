"""Samplers of a program's own that shuffle by an epoch which nobody tells them, or only something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.functions.source import called_name, is_attribute_of, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame, bound_in
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of
from gradscope.store.reader import Recording

_SEEDS = frozenset(("manual_seed", "seed", "Random", "RandomState", "default_rng", "PCG64", "Philox", "SeedSequence"))
_DEFAULTS = ("sampler", "batch_sampler")  # attributes that a loader has, given or not
_ASKS = frozenset(("hasattr", "getattr"))
_LOADER = "DataLoader"
_FIRST = "__init__"

Trees = dict[str, ast.Module]


@dataclass(frozen=True, slots=True)
class Epochs:
    """A class whose order goes by an epoch, kept in `attribute`, and the method that alone tells it."""

    name: str
    attribute: str
    method: str


@dataclass(frozen=True, slots=True)
class Untold:
    """What is not told its epoch, and the line that takes something else for it; None where nobody tells anything."""

    what: Epochs
    instead: Site | None


def untold(recording: Recording, trees: Trees) -> Iterator[Untold]:
    """The program's own samplers whose epoch nothing can have told."""
    for epochs in _keeping_epochs(trees):
        if _is_written(trees, epochs):
            continue
        places = told_of(recording, trees, epochs.method)
        if places is not None:
            yield Untold(epochs, next(iter(places), None))


def told_of(recording: Recording, trees: Trees, method: str) -> list[Site] | None:
    """The lines by which a method is called of a loader's sampler that is torch's own, which has none; None where it
    may be called of anything else."""
    found: list[Site] = []
    for file, tree in trees.items():
        asked = {id(one) for node in nodes_of(tree) if called_name_of(node) in _ASKS for one in ast.walk(node)}
        for node in nodes_of(tree):
            if isinstance(node, ast.Constant) and node.value == method and id(node) not in asked:
                return None
            if isinstance(node, ast.Call) and called_name(node) == "getattr" and method in _texts(node):
                return None
            if isinstance(node, ast.Attribute) and node.attr == method:
                site = _of_a_default(recording, trees, file, tree, node.value)
                if site is None:
                    return None
                found.append(site)
    return found


def called_name_of(node: ast.AST) -> str | None:
    """The name of what a node calls, where it is a call."""
    return called_name(node) if isinstance(node, ast.Call) else None


def _texts(call: ast.Call) -> set[object]:
    return {one.value for one in call.args if isinstance(one, ast.Constant)}


def _of_a_default(recording: Recording, trees: Trees, file: str, tree: ast.Module, value: ast.expr) -> Site | None:
    """The line that takes the sampler of a loader to which the program gave none; None of anything else."""
    line, function = value.lineno, function_around(tree, value.lineno)
    if isinstance(value, ast.Name):
        bound = bound_in(Frame(Site(file, line), tree, function or tree), value.id, line)
        line, value = bound if bound is not None else (line, value)
    if not isinstance(value, ast.Attribute) or value.attr not in _DEFAULTS:
        return None
    inside = value.value.attr if isinstance(value.value, ast.Attribute) else ""
    if inside in _DEFAULTS or _is_given(trees, value.attr):
        return None
    return at_line(recording, Site(file, line, "<module>" if function is None else function.name), line)


def _is_given(trees: Trees, name: str) -> bool:
    """Whether the program gives any loader, or any object, an attribute of a name itself."""
    nodes = [node for tree in trees.values() for node in nodes_of(tree)]
    loaders = (one for node in nodes if called_name_of(node) == _LOADER for one in getattr(node, "keywords", ()))
    stored = (one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    named = (one for one in nodes if isinstance(one, Function) and one.name == name)
    return any(one.arg in (name, None) for one in loaders) or any(one.attr == name for one in stored) or any(named)


def _keeping_epochs(trees: Trees) -> Iterator[Epochs]:
    """The classes that shuffle by a number which is a constant at first, and which one method alone sets."""
    for own in (node for tree in trees.values() for node in nodes_of(tree) if isinstance(node, ast.ClassDef)):
        methods = [one for one in own.body if isinstance(one, Function)]
        for name in sorted({name for one in methods if one.name == _FIRST for name in _constants(one)}):
            setting = [one for one in methods if one.name != _FIRST and _stores(one, name)]
            others = (one for one in methods if one not in setting and one.name != _FIRST)
            if len(setting) == 1 and _is_told(setting[0], name) and any(_shuffles_by(one, name) for one in others):
                yield Epochs(own.name, name, setting[0].name)


def _constants(function: Function) -> Iterator[str]:
    """The attributes that a method sets to a number."""
    for node in ast.walk(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            for one, value in _pairs(target, node.value) if isinstance(node, ast.Assign) else ():
                is_number = isinstance(value, ast.Constant) and type(value.value) is int
                if isinstance(one, ast.Attribute) and is_attribute_of(one, "self") and is_number:
                    yield one.attr


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple | ast.List):
        return list(zip(target.elts, getattr(value, "elts", ()), strict=False))
    return [(target, value)]


def _stores(function: Function, name: str) -> list[ast.Attribute]:
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr == name)
    return [one for one in nodes if isinstance(one.ctx, ast.Store)]


def _is_told(function: Function, name: str) -> bool:
    """Whether a method sets an attribute to what it is given."""
    told = {one.arg for one in function.args.args[1:]}
    assigned = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    of_it = (one for one in assigned if any(getattr(each, "attr", "") == name for each in one.targets))
    return any(names_in(one.value) & told for one in of_it)


def _shuffles_by(function: Function, name: str) -> bool:
    """Whether a method reads an attribute, and seeds what it draws by."""
    nodes = list(ast.walk(function))
    reads = any(is_attribute_of(node, "self") and getattr(node, "attr", "") == name for node in nodes)
    return reads and any(called_name_of(node) in _SEEDS for node in nodes)


def _is_written(trees: Trees, epochs: Epochs) -> bool:
    """Whether something outside of a class sets its number, or a class is made of it, which may."""
    nodes = [node for tree in trees.values() for node in nodes_of(tree)]
    stored = (one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    beside = any(one.attr == epochs.attribute and not is_attribute_of(one, "self") for one in stored)
    bases = (ast.unparse(base) for one in nodes if isinstance(one, ast.ClassDef) for base in one.bases)
    by_name = (one for one in nodes if isinstance(one, ast.Call) and called_name(one) == "setattr")
    by_text = any(epochs.attribute in _texts(one) for one in by_name)
    return beside or by_text or any(one.rpartition(".")[2] == epochs.name for one in bases)


def goes_by(recording: Recording, frames: list[Frame], through: ast.expr, name: str) -> bool:
    """Whether what a loop goes through is made with an object of a class."""

    def makes(value: ast.expr) -> bool:
        return any(called_name_of(one) == name for one in ast.walk(value))

    return origin(recording, frames, through, makes) is not None
