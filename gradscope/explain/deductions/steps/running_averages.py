"""Finds running averages of the parameters that an optimizer trains, and what they are called in the program."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import calls_at, handed_in
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.block_calls import stretches
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames, user_site

_ARITHMETIC = ("lerp", "add", "sub", "mul")
_AVERAGED_MODEL = "torch/optim/swa_utils.py"
_SELF, _STATE, _DATA = "self", "state_dict", "data"
_FAR = 12  # names in a row
_WALKS = ("zip", "enumerate", "list", "tuple", "sorted", "reversed")


def averaging_lines(case: Case) -> list[Stack]:
    """Where the program computes with all parameters of an optimizer, without gradients, and change none of them."""
    flow = dataflow(case)
    held = [
        {flow.tensors[one.tensor].storage for one in look.parameters if one.tensor in flow.tensors}
        for look in {look.optimizer: look for look in case.optimizer_looks()}.values()
    ]
    everything = {storage for storages in held for storage in storages}
    read: dict[Stack, set[int]] = defaultdict(set)
    for at, operation in enumerate(flow.operations):
        if operation.site is not None and _averages(operation):
            taken = _taken(flow, operation) & everything
            if taken and everything.isdisjoint(flow.written.get(at, ())):
                read[operation.operation.stack] |= taken
    return [stack for stack, storages in read.items() if any(ones and ones <= storages for ones in held)]


def _averages(operation: FlowOperation) -> bool:
    one = operation.operation
    if (
        operation.backward is not None
        or one.module is not None
        or (is_optimizer(operation) and not _is_torchs(operation))
    ):
        return False
    return base_name(one.name).removeprefix("_foreach_").rstrip("_") in _ARITHMETIC


def _is_torchs(operation: FlowOperation) -> bool:
    """Whether torch's AveragedModel runs it, which lives among the optimizers."""
    return any(site.file.replace("\\", "/").endswith(_AVERAGED_MODEL) for site in operation.operation.stack)


def _taken(flow: RecordedDataflow, operation: FlowOperation) -> set[int]:
    """The storages that an operator reads and no gradient will come back through."""
    reads = (one for one in operation.reads if not (one.requires_grad and operation.operation.grad))
    return {flow.tensors[one.tensor].storage for one in reads if one.tensor in flow.tensors}


def times_run(case: Case, site: Site | None) -> int:
    """Between how many backward calls a line ran operators."""
    known: dict[int, bool] = {}
    found = 0
    for stretch in stretches(case):
        for block in stretch.blocks:
            if id(block.operations) not in known:
                known[id(block.operations)] = any(one.site == site for one in block.operations)
        found += any(known[id(block.operations)] for block in stretch.blocks)
    return found


def read_places(case: Case, stack: Stack) -> set[str]:
    """What the calls of a line that averages are given: the parameters are among it."""
    site = user_site(stack)
    calls = calls_at(case, site) if site is not None else ()
    return {place for call in calls for one in call.args for place in places_of(case, stack, one)}


def averaged_places(case: Case, stack: Stack) -> set[str]:
    """What a line that averages keeps the average in."""
    site = user_site(stack)
    written = source_lines.edited(case, site) or source_lines.assigned(case, site)
    if written is not None:
        return places_of(case, stack, ast.parse(written, mode="eval").body)
    calls = (one for one in source_lines.at(case, site) if isinstance(one, ast.Call))
    methods = (one.func for one in calls if isinstance(one.func, ast.Attribute))
    return {place for one in methods for place in places_of(case, stack, one.value)}


def places_of(case: Case, stack: Stack, value: ast.expr) -> set[str]:
    """The variables and attributes that an expression at the top of the user's part of a stack takes a value from.

    They are written as where they come from: the variables of loops stand for what these go over, arguments for what
    the call gives them, and `self` for whose method it calls.
    """
    return _Places(case).of(user_frames(stack), value, _FAR)


class _Places:
    """Each name is followed once from each frame: names that stand for one another are many ways and few names."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._known: dict[tuple[int, str, int], set[str]] = {}

    def of(self, own: Stack, value: ast.expr, far: int) -> set[str]:
        """What an expression in the innermost of these frames takes a value from, by so many names in a row."""
        if isinstance(value, ast.Name):
            return self._of_name(own, value.id, far)
        if isinstance(value, ast.Attribute):
            taken = self.of(own, value.value, far)
            return taken if value.attr == _DATA else {f"{one}.{value.attr}" for one in taken}
        if isinstance(value, ast.Subscript | ast.Starred):
            return self.of(own, value.value, far)
        parts = [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)]
        if isinstance(value, ast.Call):
            parts = value.args if called_name(value) in _WALKS else []
            parts = [value.func.value] if isinstance(value.func, ast.Attribute) else parts
        return {one for part in parts for one in self.of(own, part, far)}

    def _of_name(self, own: Stack, name: str, far: int) -> set[str]:
        key = len(own), name, far
        if key not in self._known:
            sources = list(_sources(self._case, own, name)) if far else []
            self._known[key] = {one for at, source in sources for one in self.of(at, source, far - 1)} or {name}
        return self._known[key]


def _sources(case: Case, own: Stack, name: str) -> Iterator[tuple[Stack, ast.expr]]:
    """What a name of the innermost function stands for, with the stack at which that is written."""
    function = syntax(case).function(own[0]) if own else None
    for target, source in loops(function) if function is not None else ():
        if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target)):
            yield own, source
    takes = isinstance(function, ast.FunctionDef) and [one.arg for one in function.args.args]
    if isinstance(function, ast.FunctionDef) and takes and name in takes and len(own) > 1:
        if name == takes[0] == _SELF:
            calls = (one for one in calls_at(case, own[1]) if called_name(one) == function.name)
            yield from ((own[1:], one.func.value) for one in calls if isinstance(one.func, ast.Attribute))
        else:
            value = handed_in(case, own, function, name)
            yield from () if value is None else ((own[1:], value),)


def loops(function: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What loops and comprehensions name, and what they take that from; of a zip() one by one. A state as well, and
    another name that is given once."""
    stored = Counter(
        one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    )
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and isinstance(target, ast.Name):
            if stored[target.id] == 1:
                yield target, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called_name(node.value) == _STATE:
            yield node.targets[0], node.value
        elif isinstance(node, ast.For | ast.comprehension):
            yield from _paired(node.target, node.iter)


def _paired(target: ast.expr, source: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    called = called_name(source) if isinstance(source, ast.Call) else ""
    if called == "zip" and isinstance(source, ast.Call) and isinstance(target, ast.Tuple):
        yield from zip(target.elts, source.args, strict=False)
    elif called == "enumerate" and isinstance(source, ast.Call) and isinstance(target, ast.Tuple) and source.args:
        yield from _paired(target.elts[-1], source.args[0])
    else:
        yield target, source
