"""Finds the tensors that came into being out of torch's dispatcher's sight, on memory that another tensor has.

`.data` is one such way, a Parameter around a value another. Each is told as an operator that read the one and made the
other, just before the first operator that read it: what follows tensors through operators then finds its way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial

from gradscope.explain.evidence.alias_lines import made_between
from gradscope.explain.evidence.syntax import Syntax
from gradscope.model.flow import FlowOperation, FlowTensor, Read
from gradscope.model.site import Origin, Site, Stack

ALIAS = "aten.detach.default"  # what torch does there, without its dispatcher
_WAYS = ((".data", "Parameter("), (".detach(",))  # the second is out of sight on torch 2.9 alone
_DIFFERENTIABLE = ("float", "bfloat", "complex")  # kinds of numbers
Between = Callable[[Stack, Stack], Stack | None]
_TRANSFORMS = "/torch/_functorch/"  # which take tensors out of their wrappers


class _Touched:
    """The tensor of each memory that was touched last, and whether it required grad; of memory that several have."""

    def __init__(self, tensors: Mapping[int, FlowTensor]) -> None:
        self._tensors = tensors
        users = Counter([one.storage for one in tensors.values()])
        self._storages = {number: one.storage for number, one in tensors.items() if users[one.storage] > 1}
        self._parameters = {one.storage: one.number for one in tensors.values() if one.parameter}
        self._last: dict[int, tuple[int, Read | None, FlowOperation]] = {}  # by storage; no Read of what was made
        self._seen: set[int] = set()

    def note(self, operation: FlowOperation) -> None:
        storages = self._storages  # asked of a hundred thousand
        for read in operation.reads:
            if read.tensor in storages:
                self._note(read.tensor, read, operation)
        for number in operation.makes:
            if number in storages:
                self._note(number, None, operation)

    def _note(self, number: int, read: Read | None, operation: FlowOperation) -> None:
        self._seen.add(number)
        self._last[self._storages[number]] = number, read, operation

    def is_new(self, number: int) -> bool:
        """Whether nobody has seen a tensor yet, on memory that others have too."""
        return number in self._storages and number not in self._seen

    def before(self, number: int) -> tuple[Read, FlowOperation | None] | None:
        """What was touched last on the memory of a new tensor, and by which operator.

        None for the operator where it is a parameter that none has touched, only the values that it was made of.
        """
        storage = self._storages[number]
        if storage not in self._last:
            return None
        last, read, operation = self._last[storage]
        parameter = self._parameters.get(storage, number)
        if parameter != number and parameter not in self._seen:
            return Read(parameter, requires_grad=True, leaf=True), None
        return read or self._made(last, operation), operation

    def _made(self, number: int, operation: FlowOperation) -> Read:
        """A result, as it was just after its operator."""
        learned = operation.operation.grad and any(read.requires_grad for read in operation.reads)
        return Read(number, learned and self._tensors[number].type.dtype.startswith(_DIFFERENTIABLE))


def with_aliases(
    operations: Iterable[FlowOperation], tensors: Mapping[int, FlowTensor], syntax: Syntax
) -> Iterator[FlowOperation]:
    """The operators in their order, and one for each alias before the first that read it in a forward."""
    touched = _Touched(tensors)
    between = lru_cache(maxsize=None)(partial(made_between, syntax=syntax))  # each step of a loop asks the same
    for operation in operations:
        if operation.backward is None:
            for read in operation.reads:
                known = touched.before(read.tensor) if touched.is_new(read.tensor) else None
                if known is not None and not _is_transformed(operation):
                    origin, last = known
                    stack = _stack(last, operation, syntax, between)
                    made = replace(operation.operation, name=ALIAS, stack=stack, writes=(), node=None, grad=True)
                    yield replace(operation, operation=made, reads=(origin,), makes=(read.tensor,))
        touched.note(operation)
        yield operation


def _is_transformed(operation: FlowOperation) -> bool:
    return any(_TRANSFORMS in site.file for site in operation.operation.stack)


def _stack(before: FlowOperation | None, after: FlowOperation, syntax: Syntax, between: Between) -> Stack:
    """Where the alias was made: at the line of the operator before or after, or at one between them that says so."""
    found = next((stack for ways in _WAYS if (stack := _said(before, after, ways, syntax)) is not None), None)
    if found is None and before is not None:
        found = between(before.operation.stack, after.operation.stack)
    return found or after.operation.stack


def _said(before: FlowOperation | None, after: FlowOperation, ways: tuple[str, ...], syntax: Syntax) -> Stack | None:
    for one in (before, after):
        if one is not None and one.site is not None and _says(one.site.source, ways):
            return one.operation.stack
    first, last = None if before is None else before.site, after.site
    if last is None:
        return None
    start = first.line if first is not None and first.is_in_function_of(last) else 0
    lines = syntax.parsed(last.file).lines
    for number in range(last.line - 1, start, -1):
        site = syntax.site(last.file, number)
        if _says(lines[number - 1] if number <= len(lines) else None, ways) and site.function == last.function:
            return _with_line(after.operation.stack, replace(last, line=number, source=site.source))
    return None


def _says(source: str | None, ways: tuple[str, ...]) -> bool:
    return source is not None and any(way in source for way in ways)


def _with_line(stack: Stack, line: Site) -> Stack:
    """A stack whose innermost frame of the user stands at another line."""
    inner = next((at for at, site in enumerate(stack) if site.origin is Origin.USER), 0)
    return (line, *stack[inner + 1 :])
