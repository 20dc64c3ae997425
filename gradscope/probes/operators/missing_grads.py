"""Looks, when the program ends with an exception about None, for tensors whose .grad is None at the line that raised.

The surprise: nothing of the program may run for that, no property and no `__getattr__`. So an expression in front of
`.grad` is read from the frame's variables and from the dicts of objects, and what cannot be read so is left out.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.traceback_filter import is_ours, links
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.signals import let_through
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.guards import no_function

_SPEAKS_OF_NONE = "None"
_NOTHING = object()
_INSIDE = ("_parameters", "_buffers", "_modules")  # where a module keeps what it hands out as attributes


class MissingGrads:
    """Writes down what tensors these are: leaves or results, followed or not, and where a result was made."""

    probe = "missing grads"

    def __init__(self, context: Context) -> None:
        self._sink, self._names, self._faults = context.sink, context.names, context.faults
        self._dataflow, self._uncaught = context.get(Dataflow), context.events.exception_uncaught
        skip_methods(MissingGrads)

    def __enter__(self) -> MissingGrads:
        self._uncaught.append(self.look)
        return self

    def __exit__(self, *error: object) -> None:
        if self.look in self._uncaught:
            self._uncaught.remove(self.look)

    def look(self, error: BaseException, stack: int) -> None:
        """The program ends with an exception, whose stack is this."""
        if not isinstance(error, (TypeError, AttributeError)) or _SPEAKS_OF_NONE not in str(error):
            return
        try:
            with no_function():
                for name, tensor in _without_gradient(error):
                    self._write(name, tensor, stack)
        except Exception as fault:
            self._faults.note(self.probe, fault)

    def _write(self, name: str, tensor: torch.Tensor, stack: int) -> None:
        token = None if tensor.grad_fn is None else token_of(tensor.grad_fn)
        named = self._names.leaf(tensor) if tensor.is_leaf and isinstance(tensor, torch.nn.Parameter) else name
        made = 0 if token is None else token.stack
        row = (self._dataflow.number(tensor), int(tensor.is_leaf), int(tensor.requires_grad), made, stack)
        self._sink.add("missing_grad", (self._sink.string(named), *row))
        self._dataflow.name()


def _without_gradient(error: BaseException) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of the innermost line that asks for a .grad which is None, as the program writes them."""
    for frame, line in reversed([(link.tb_frame, link.tb_lineno) for link in links(error)]):
        if is_ours(frame.f_code):
            continue
        found = [
            (ast.unparse(owner), value)
            for statement in _statements(frame, line)
            for owner in _asked(statement)
            for value in (_read(owner, frame), *_each(owner, statement, frame))
            if issubclass(type(value), torch.Tensor) and _has_none(value)
        ]
        if found:
            yield from found
            return


def _has_none(tensor: torch.Tensor) -> bool:
    """Whether its .grad is None, read so that torch does not warn of a result's."""
    return (not tensor.is_leaf and not tensor.retains_grad) or tensor.grad is None


def _statements(frame: FrameType, line: int) -> Iterator[ast.stmt]:
    """The statement at a line, and those before it in its function that gave its variables the None that they hold."""
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        let_through(error)
        return
    before = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno <= line]
    around = [one for one in before if line <= (one.end_lineno or one.lineno)]
    if not around:
        return
    statement = max(around, key=lambda one: one.lineno)
    yield statement
    names = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
    empty = {name for name in names if frame.f_locals.get(name, _NOTHING) is None}
    function = max(
        (one for one in around if isinstance(one, ast.FunctionDef)), key=lambda one: one.lineno, default=tree
    )
    inside = set(ast.walk(function))
    yield from (one for one in before if one in inside and one is not statement and _gives(one, empty))


def _gives(statement: ast.AST, names: set[str]) -> bool:
    """Whether a statement gives one of some variables its value."""
    places = statement.targets if isinstance(statement, ast.Assign) else ()
    return not names.isdisjoint(target.id for target in places if isinstance(target, ast.Name))


def _asked(statement: ast.AST) -> Iterator[ast.expr]:
    return (one.value for one in ast.walk(statement) if isinstance(one, ast.Attribute) and one.attr == "grad")


def _read(owner: ast.expr, frame: FrameType) -> Any:
    """The value of a variable, an attribute or an item by a constant, where no code of the program has to run."""
    if isinstance(owner, ast.Name):
        return frame.f_locals.get(owner.id, frame.f_globals.get(owner.id, _NOTHING))
    if isinstance(owner, ast.Attribute):
        return _attribute(_read(owner.value, frame), owner.attr)
    if isinstance(owner, ast.Subscript):
        value, key = _read(owner.value, frame), _key(owner.slice, frame)
        if type(value) is dict:
            return value.get(key, _NOTHING) if isinstance(key, (str, int)) else _NOTHING
        if type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value):
            return value[key]
        if issubclass(type(value), (torch.nn.Sequential, torch.nn.ModuleList)):
            return _attribute(value, str(key))
    return _NOTHING


def _each(owner: ast.expr, statement: ast.stmt, frame: FrameType) -> Iterator[Any]:
    """What a variable of a comprehension went through: a list's items, or a module's parameters."""
    loops = (one for one in ast.walk(statement) if isinstance(one, ast.comprehension))
    over = [one.iter for one in loops if isinstance(owner, ast.Name) and ast.unparse(one.target) == owner.id]
    for one in over:
        called = one.func if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) else None
        value = _read(one if called is None else called.value, frame)
        if type(value) in (list, tuple) and called is None:
            yield from value
        elif called is not None and issubclass(type(value), torch.nn.Module) and called.attr == "parameters":
            yield from torch.nn.Module.parameters(value)


def _key(part: ast.expr, frame: FrameType) -> Any:
    return part.value if isinstance(part, ast.Constant) else _read(part, frame)


def _attribute(value: Any, name: str) -> Any:
    """An attribute that lies in an object's dict, or in a module's."""
    if type(value).__dictoffset__ == 0:
        return _NOTHING
    own = object.__getattribute__(value, "__dict__")
    inside = _INSIDE if issubclass(type(value), torch.nn.Module) else ()
    places = [own, *(own[place] for place in inside if place in own)]
    return next((place[name] for place in places if name in place), _NOTHING)
