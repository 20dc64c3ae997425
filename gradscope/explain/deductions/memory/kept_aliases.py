"""Finds weights that were put aside without a copy: writing them back copies them onto themselves."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.deductions.memory.overwritten_weights import is_memory_replaced
from gradscope.explain.deductions.steps.running_averages import places_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.store.asked import kept

_COPY, _LISTS = "copy_", "_foreach_copy_"
_MANY = ("aten._foreach_", "aten._fused_")
_SHARES = ("detach", "alias")
_OUT_OF_SIGHT = ("data", "detach")


@dataclass(frozen=True, slots=True)
class KeptAlias:
    """A line that puts weights aside, which are then the weights themselves, and the one that copies them back."""

    kept: Site
    copied: Site


@dataclass(frozen=True, slots=True)
class _Copy:
    """Operator `at` copies the tensor `source` into `target`."""

    at: int
    target: int
    source: int


@kept
def kept_aliases(case: Case) -> tuple[KeptAlias, ...]:
    """One for each line that copies weights onto themselves, all that it copies, after the weights were changed."""
    if is_memory_replaced(case):
        return ()
    flow = dataflow(case)
    found: dict[Stack, list[_Copy]] = defaultdict(list)
    for at, operation in enumerate(flow.operations):
        if _is_a_copy(operation):
            found[operation.operation.stack].extend(_copies(at, operation))
    weights = _Weights(case, flow)
    asides = (weights.put_aside(copies) for copies in found.values() if copies)
    return tuple(one for one in asides if one is not None)


def _copies(at: int, operation: FlowOperation) -> Iterator[_Copy]:
    name, reads = base_name(operation.operation.name), [one.tensor for one in operation.reads]
    half = len(reads) // 2
    if len(reads) == 2 * half and (name == _LISTS or (name == _COPY and half == 1)):
        yield from (_Copy(at, *pair) for pair in zip(reads[:half], reads[half:], strict=True))


class _Weights:
    """The memory of parameters, what it is called, and who writes to it."""

    def __init__(self, case: Case, flow: RecordedDataflow) -> None:
        self._case, self._flow = case, flow
        self._types = {one.storage: one.type for one in flow.tensors.values() if one.parameter}

    def put_aside(self, copies: list[_Copy]) -> KeptAlias | None:
        """The line that puts aside what all these copies of one line write back; None where one does something."""
        if not all(self._is_onto_itself(one) for one in copies):
            return None
        lines = {self._kept_at(one) for one in copies}
        line, copied = lines.pop(), self._flow.operations[copies[0].at].site
        return None if lines or line is None or copied is None else KeptAlias(line, copied)

    def _is_onto_itself(self, one: _Copy) -> bool:
        """Whether a whole parameter is copied to where it lies, under another name than the one it is written by."""
        names = self._flow.tensors.get(one.target), self._flow.tensors.get(one.source)
        return (
            names[0] is not None
            and names[1] is not None
            and names[0].storage == names[1].storage
            and one.source not in self._names(one.target, one.at)
            and all(self._is_whole(tensor, one.at) for tensor in (one.target, one.source))
        )

    def _is_whole(self, tensor: int, before: int) -> bool:
        """Whether a tensor is a parameter, or a second name of one, and no part or turned view of it."""
        *_, last = self._names(tensor, before)
        whole, end = self._flow.tensors[tensor], self._flow.tensors[last]
        at = self._aliased(last, before)
        is_end = end.parameter or (at is not None and self._is_unseen(at))
        return is_end and self._types.get(whole.storage) == whole.type

    def _names(self, tensor: int, before: int) -> list[int]:
        """A tensor, what it is a second name of, and so on, as far as this was seen."""
        names, at = [tensor], self._aliased(tensor, before)
        while at is not None and not self._is_unseen(at):
            names.append(self._flow.operations[at].reads[0].tensor)
            at = self._aliased(names[-1], at)
        return names

    def _aliased(self, tensor: int, before: int) -> int | None:
        """The operator that made a tensor as a second name of another."""
        flow = self._flow
        at = next((at for at in flow.makers.get(tensor, ()) if at < before), None)
        if at is None or flow.tensors[tensor].parameter or base_name(flow.operations[at].operation.name) not in _SHARES:
            return None
        known = [flow.tensors[one.tensor] for one in flow.operations[at].reads if one.tensor in flow.tensors]
        return at if len(known) == 1 and known[0].storage == flow.tensors[tensor].storage else None

    def _is_unseen(self, at: int) -> bool:
        """Whether an alias was made out of torch's sight, by .data: it is told just before what reads it first."""
        one, after = self._flow.operations[at], self._flow.operations[at + 1 : at + 2]
        return any((one.run, one.position) == (other.run, other.position) for other in after)

    def _kept_at(self, one: _Copy) -> Site | None:
        """The line that puts aside what is copied, if the weights are changed between, and not through that name."""
        made = self._aliased(one.source, one.at)
        if made is None:
            return None
        unseen, run = self._is_unseen(made), self._flow.operations[one.at].run
        changes = [write for write in self._writes[self._flow.tensors[one.source].storage] if write[0] != one.at]
        if any(self._goes_through(at, tensor, one) for at, tensor in changes):
            return None
        for at, _ in changes:
            operation = self._flow.operations[at]
            is_near = unseen and operation.run == run and not is_optimizer(operation)
            if at < one.at and (is_near or made < at) and self._changes(operation):
                return self._line_of_data(one) if unseen else self._flow.operations[made].site
        return None

    @cached_property
    def _writes(self) -> dict[int, list[tuple[int, int]]]:
        """By storage: the operators that may write to it, each with the tensor that it is given."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for at, operation in enumerate(self._flow.operations):
            for tensor in _written(operation):
                if tensor in self._flow.tensors and self._flow.tensors[tensor].storage in self._types:
                    found[self._flow.tensors[tensor].storage].append((at, tensor))
        return found

    def _changes(self, operation: FlowOperation) -> bool:
        """Whether an operator changes what it writes to, and not only may: it is no copy of something onto itself."""
        storages = [
            self._flow.tensors[one.tensor].storage for one in operation.reads if one.tensor in self._flow.tensors
        ]
        if _is_a_copy(operation):
            return len(set(storages)) == len(storages)
        return not _is_of_a_list(operation)

    def _goes_through(self, at: int, tensor: int, one: _Copy) -> bool:
        """Whether an operator may write to the weights by the name under which they were put aside."""
        names = self._names(tensor, at)
        if one.source in names:
            return True
        aliased = self._aliased(names[-1], at)
        if aliased is None or not self._is_unseen(aliased) or is_optimizer(self._flow.operations[at]):
            return False
        places = self._places(at, 0), self._places(one.at, -1)
        return not all(places) or not places[0].isdisjoint(places[1])

    def _places(self, at: int, argument: int) -> set[str]:
        """What the program calls what a line writes to (0) or copies (-1), without what it belongs to."""
        operation = self._flow.operations[at]
        calls = calls_at(self._case, operation.site) if operation.site is not None else ()
        methods = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr.endswith("_")]
        found: set[str] = set()
        for call in methods:
            if argument == 0 and isinstance(call.func, ast.Attribute) and called_name(call) != _LISTS:
                found |= places_of(self._case, operation.operation.stack, call.func.value)
            elif call.args:
                found |= places_of(self._case, operation.operation.stack, call.args[argument])
        return {place.rsplit(".", 1)[-1] for place in found}

    def _line_of_data(self, one: _Copy) -> Site | None:
        """The only line that gives .data (or what has it) the name under which the weights are copied back."""
        names, found = self._places(one.at, -1), set[Site]()
        for file in syntax(self._case).files:
            for node in syntax(self._case).nodes(file):
                if isinstance(node, ast.Assign) and any(_last_name(target) in names for target in node.targets):
                    parts = [one.attr for one in ast.walk(node.value) if isinstance(one, ast.Attribute)]
                    lines = [node.lineno] if set(parts) & set(_OUT_OF_SIGHT) else []
                    found.update(syntax(self._case).site(file, line) for line in lines)
        return found.pop() if len(found) == 1 else None


def _is_a_copy(operation: FlowOperation) -> bool:
    return base_name(operation.operation.name) in (_COPY, _LISTS) and operation.backward is None


def _written(operation: FlowOperation) -> set[int]:
    """The tensors that an operator writes to, or may."""
    given = [one.tensor for one in operation.reads]
    if _is_a_copy(operation):
        return set(given[: max(len(given) // 2, 1)])
    return set(given) if _is_of_a_list(operation) else set(given).intersection(operation.makes)


def _is_of_a_list(operation: FlowOperation) -> bool:
    """Whether an operator writes to tensors of lists: which they are does not show."""
    return operation.operation.name.startswith(_MANY) and not operation.makes


def _last_name(target: ast.expr) -> str:
    """`working` of `self.working`, and of `self.working[name]`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
