"""Whether what a name stands for is text, by the source: on all ways that are known, and on one at least."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradscope.functions.source import called_name, is_attribute_of
from gradscope.ranks.source.syntax import Function, nodes_of

_MAKES = frozenset(("str", "format", "join", "lower", "upper", "strip", "replace", "basename", "hexdigest"))
_SPLITS = frozenset(("split", "rsplit", "splitlines"))
_KEYS = frozenset(("items", "keys"))
_THROUGH = frozenset(("sorted", "list", "set", "tuple", "reversed"))
_DEPTH = 8  # names that are followed
_SELF = "self"

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


@dataclass(frozen=True, slots=True)
class Texts:
    """The functions of a program, and what calls them."""

    trees: tuple[ast.Module, ...]

    def is_text(self, function: Scope, value: ast.expr, depth: int = _DEPTH) -> bool:
        """Whether an expression in a function is text."""
        if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            return True
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return self.is_text(function, value.left, depth) or self.is_text(function, value.right, depth)
        if isinstance(value, ast.Call):
            return called_name(value) in _MAKES
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            return self.is_text(function, value.value, depth)
        if not isinstance(value, ast.Name) or not depth:
            return False
        found = [*self._bound(function, value.id, depth), *self._passed(function, value.id, self.is_text, depth)]
        return bool(found) and all(found)

    def has_texts(self, function: Scope, value: ast.expr, depth: int = _DEPTH) -> bool:
        """Whether what a loop goes through are texts, of a dict its keys."""
        elements = _elements(value)
        if elements is not None:
            return bool(elements) and all(self.is_text(function, one, depth) for one in elements)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and depth:
            return all(self.has_texts(function, one, depth - 1) for one in (value.left, value.right))
        if isinstance(value, ast.Call) and depth:
            return self._are_of_a_call(function, value, depth - 1)
        if not isinstance(value, ast.Name) or not depth:
            return False
        whole = (one for one in _assigned(function, value.id) if not (isinstance(one, ast.Dict) and not one.keys))
        kept = [self.has_texts(function, one, depth - 1) for one in whole]
        put = [self.is_text(function, one, depth - 1) for one in _put_into(function, value.id)]
        found = [*kept, *put, *self._passed(function, value.id, self.has_texts, depth)]
        return bool(found) and all(found)

    def _are_of_a_call(self, function: Scope, call: ast.Call, depth: int) -> bool:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _KEYS:
            return self.has_texts(function, call.func.value, depth)
        if called_name(call) in _THROUGH and call.args:
            return self.has_texts(function, call.args[0], depth)
        if _is_split(call):
            return True
        own = [one for one in self._functions() if one.name == called_name(call)]
        given = [(one, node) for one in own for node in ast.walk(one) if isinstance(node, ast.Return | ast.Yield)]
        return bool(given) and all(self._are_given(one, node, depth) for one, node in given)

    def _are_given(self, function: Scope, node: ast.Return | ast.Yield, depth: int) -> bool:
        """Whether a function returns texts, or gives one after the other."""
        if node.value is None:
            return False
        asked = self.is_text if isinstance(node, ast.Yield) else self.has_texts
        return asked(function, node.value, depth)

    def is_made_of(self, function: Scope, value: ast.expr, name: str, depth: int = _DEPTH) -> bool:
        """Whether an expression in a function is an object of a class, on all ways that are known."""
        if isinstance(value, ast.Call):
            return called_name(value) == name
        if is_attribute_of(value, _SELF) and isinstance(value, ast.Attribute) and depth:
            kept = [(one, node) for one in self._functions() for node in _kept_as(one, value.attr)]
            return bool(kept) and all(self.is_made_of(one, node, name, depth - 1) for one, node in kept)
        if not isinstance(value, ast.Name) or not depth:
            return False
        bound = [self.is_made_of(function, one, name, depth - 1) for one in _assigned(function, value.id)]

        def is_made(caller: Scope, given: ast.expr, deep: int) -> bool:
            return self.is_made_of(caller, given, name, deep)

        found = [*bound, *self._passed(function, value.id, is_made, depth)]
        return bool(found) and all(found)

    def _bound(self, function: Scope, name: str, depth: int) -> Iterator[bool]:
        """Whether a name is text, by each assignment and each loop over it in a function."""
        for value in _assigned(function, name):
            yield self.is_text(function, value, depth - 1)
        for node in ast.walk(function):
            if isinstance(node, ast.For | ast.comprehension) and _names(node.target, name):
                first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
                pairs = isinstance(node.iter, ast.Call) and called_name(node.iter) == "items"
                is_key = _names(first, name) and pairs == isinstance(node.target, ast.Tuple)
                yield is_key and self.has_texts(function, node.iter, depth - 1)

    def _passed(
        self, function: Scope, name: str, asked: Callable[[Scope, ast.expr, int], bool], depth: int
    ) -> Iterator[bool]:
        """What is true of each argument that a program gives for a parameter."""
        if isinstance(function, ast.Module):
            return
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        if name not in names:
            return
        place = names.index(name) - (names[0] == _SELF)
        called = self._class_of(function) if function.name == "__init__" else function.name
        for caller in (*self._functions(), *map(_outside, self.trees)):
            for call in ast.walk(caller):
                if isinstance(call, ast.Call) and called_name(call) == called:
                    by_name = {one.arg: one.value for one in call.keywords}
                    given = call.args[place] if 0 <= place < len(call.args) else by_name.get(name)
                    yield given is not None and asked(caller, given, depth - 1)

    def _functions(self) -> Iterator[Function]:
        return (node for tree in self.trees for node in nodes_of(tree) if isinstance(node, Function))

    def _class_of(self, function: Function) -> str:
        classes = (node for tree in self.trees for node in nodes_of(tree) if isinstance(node, ast.ClassDef))
        return next((one.name for one in classes if function in one.body), "")


def _is_split(call: ast.Call) -> bool:
    """Whether a text is split, as tensors are not: by nothing, or by a text."""
    by_texts = all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in call.args)
    return isinstance(call.func, ast.Attribute) and call.func.attr in _SPLITS and by_texts and not call.keywords


def _kept_as(function: Function, name: str) -> list[ast.expr]:
    """What a method keeps in an attribute of its object."""
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    return [node.value for node in nodes if f"{_SELF}.{name}" in map(ast.unparse, node.targets)]


def _outside(tree: ast.Module) -> ast.Module:
    """What stands in a file and in no function or class."""
    return ast.Module([one for one in tree.body if not isinstance(one, Function | ast.ClassDef)], [])


def _elements(value: ast.expr) -> list[ast.expr] | None:
    """What an expression lists, of a dict its keys; None where it is no list of something."""
    if isinstance(value, ast.Dict):
        return [key or ast.Constant(None) for key in value.keys]  # `**others` has no key
    if isinstance(value, ast.List | ast.Set | ast.Tuple):
        return value.elts
    if isinstance(value, ast.ListComp | ast.SetComp):
        return [value.elt]
    return [value.key] if isinstance(value, ast.DictComp) else None


def _assigned(function: Scope, name: str) -> list[ast.expr]:
    """What is assigned to a name in a function."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
    ]


def _put_into(function: Scope, name: str) -> list[ast.expr]:
    """The keys under which a function puts something into what has a name."""
    return [
        target.slice
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
    ]


def _names(target: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(target))
