"""Averages of a parameter with itself, however they are written: `a * w + (1 - a) * w` is w, and nothing follows it.

A module's shallow copy has other containers and the same parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_LIST = "_foreach_"
_AVERAGES, _SCALES, _ADDS, _SUBTRACTS, _COPIES = ("lerp_",), ("mul_", "div_"), ("add_",), ("sub_",), ("copy_",)
_PASSES = ("mul", "div", "detach", "alias", "clone", "_to_copy")
_MOVES = ("t", "transpose", "permute", "movedim", "numpy_T", "as_strided", "slice", "select", "diagonal", "unfold")
_SCALE, _AVERAGE, _OTHER = "scale", "average", "other"
_OWNERS = ("parameters", "named_parameters", "state_dict", "buffers")


@dataclass(frozen=True, slots=True)
class OwnAverage:
    """Operator `at` gives a parameter an average of nothing but itself; `copied` where it copies it in."""

    at: int
    copied: bool


@kept
def own_average(case: Case) -> OwnAverage | None:
    """The first average of parameters with themselves on a line that averages nothing else: two modules may share a
    part, and have others each."""
    flow = dataflow(case)
    first: dict[Site | None, int] = {}
    others = set[Site | None]()
    for at, kind in _writes(flow):
        site = flow.operations[at].site
        if kind == _AVERAGE:
            first.setdefault(site, at)
        elif kind == _OTHER:
            others.add(site)
    found = next((at for site, at in first.items() if site not in others), None)
    return None if found is None else OwnAverage(found, _name(flow.operations[found]) in _COPIES)


@dataclass(frozen=True, slots=True)
class _Edit:
    """Operator `at` writes to a parameter in place, which `before` scaled or wrote to last, and others at `since`."""

    flow: RecordedDataflow
    at: int
    storage: int
    before: str | None
    since: int

    def made(self, tensor: int) -> tuple[str, list[int]]:
        """What made a tensor since others wrote to the parameter, and of what; nothing else says what it has now."""
        maker = self.flow.maker(tensor, self.at)
        if maker is None or maker < self.since:
            return "", []
        operation = self.flow.operations[maker]
        return _name(operation), [one.tensor for one in operation.reads]

    def is_its_own(self, tensor: int) -> bool:
        """Whether a tensor is the parameter's memory, each element in its place: a matrix is not its transpose."""
        maker = self.flow.maker(tensor, self.at)
        if maker is not None and _name(self.flow.operations[maker]) in _MOVES:
            return False
        return tensor in self.flow.tensors and self.flow.tensors[tensor].storage == self.storage


def _writes(flow: RecordedDataflow) -> Iterator[tuple[int, str]]:
    """The program's edits of parameters: what scales them, what averages them with themselves, and all others."""
    parameters = {tensor.storage for tensor in flow.tensors.values() if tensor.parameter}
    before: dict[int, str] = {}  # by storage: what wrote to it last
    since: dict[int, int] = {}  # by storage: when it was changed last by more than a factor
    for at, operation in enumerate(flow.operations):
        for storage in _written(flow, at) & parameters:
            if operation.backward is None and not is_optimizer(operation):
                yield at, _kind(_Edit(flow, at, storage, before.get(storage), since.get(storage, -1)))
            before[storage] = _name(operation)
            since[storage] = since.get(storage, -1) if before[storage] in _SCALES else at


def _written(flow: RecordedDataflow, at: int) -> set[int]:
    """The memory that an operator writes to in place; one of lists says only what it reads, first what it writes to."""
    name, read = flow.operations[at].operation.name, flow.operations[at].reads
    if not base_name(name).startswith(_LIST) or not base_name(name).endswith("_"):
        return flow.written.get(at, set())
    tensors = (flow.tensors.get(one.tensor) for one in read)
    return {one.storage for one in tensors if one is not None and one.parameter}


def _kind(edit: _Edit) -> str:
    name, other = _name(edit.flow.operations[edit.at]), _other(edit)
    if name in _SCALES and other is None:
        return _SCALE
    if other is None:
        return _OTHER
    if name in _COPIES:
        averages = _is_sum(edit, other)
    elif name in _ADDS and edit.before in _SCALES:
        averages = _is_multiple(edit, other) or _is_nothing(edit, other)
    else:
        averages = _is_nothing(edit, other) if name in (*_ADDS, *_SUBTRACTS) else edit.is_its_own(other)
        averages = averages and name in (*_ADDS, *_SUBTRACTS, *_AVERAGES)
    return _AVERAGE if averages else _OTHER


def _other(edit: _Edit) -> int | None:
    """The tensor that an operator puts into another in place; of lists, the one that stands at the same place."""
    operation = edit.flow.operations[edit.at]
    read = [one.tensor for one in operation.reads]
    if base_name(operation.operation.name).startswith(_LIST):
        half = 0 if _name(operation) in _SCALES or len(read) % 2 else len(read) // 2
        pairs = zip(read[:half], read[half : 2 * half], strict=True)
        return next((other for mine, other in pairs if edit.is_its_own(mine)), None)
    if _name(operation) in _COPIES:
        return read[-1] if read else None
    return read[1] if len(read) == 2 and edit.is_its_own(read[0]) else None


def _is_sum(edit: _Edit, tensor: int) -> bool:
    """Whether a tensor is a sum of two multiples of a parameter, or what lies between it and itself."""
    name, read = edit.made(tensor)
    scaled = sum(not edit.is_its_own(one) for one in read)
    fits = (name, len(read), scaled) in (("add", 2, 2), ("lerp", 2, 0))
    return fits and all(_is_multiple(edit, one) for one in read)


def _is_nothing(edit: _Edit, tensor: int) -> bool:
    """Whether a tensor is a multiple of a parameter less itself."""
    name, read = edit.made(tensor)
    while name in _PASSES and len(read) == 1:
        name, read = edit.made(read[0])
    return name in ("sub", "rsub") and len(read) == 2 and all(edit.is_its_own(one) for one in read)


def _is_multiple(edit: _Edit, tensor: int) -> bool:
    """Whether a tensor is a parameter's own memory, or a multiple of it."""
    while not edit.is_its_own(tensor):
        name, read = edit.made(tensor)
        if name not in _PASSES or len(read) != 1:
            return False
        tensor = read[0]
    return True


def _name(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).removeprefix(_LIST)


def shallow_copy(case: Case) -> Site | None:
    """The only line of the program that copies a module, or a dict of parameters, without what is in it."""
    found = list(syntax(case).everywhere(_is_shallow))
    return found[0] if len(found) == 1 else None


def _is_shallow(node: ast.AST) -> bool:
    """`copy.copy(model)`, `copy(model)`, `model.state_dict().copy()`, `dict(model.named_parameters())`."""
    if not isinstance(node, ast.Call):
        return False
    owns = any(isinstance(one, ast.Call) and one is not node and called_name(one) in _OWNERS for one in ast.walk(node))
    if called_name(node) == "copy":
        return owns or (len(node.args) == 1 and not node.keywords)
    return called_name(node) == "dict" and owns and len(node.args) == 1
