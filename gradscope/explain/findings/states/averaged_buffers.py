"""GS834: an averaged model whose batch normalisation keeps the running statistics that it began with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.words import several
from gradscope.functions.source import names_in
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_WRITES = ("add_", "lerp_", "copy_", "_foreach_add_", "_foreach_lerp_", "_foreach_copy_")
_NORMALISES = "batch_norm"
_INPUTS = 5  # of one that has weights and running statistics, in torch's order: input, weight, bias, mean, variance


@dataclass(frozen=True, slots=True)
class _Normalisation:
    """A call of batch normalisation: its place, the storages of its weight and of its running mean, and their shape."""

    at: int
    weight: int
    mean: int
    shape: tuple[int, ...]


def average_without_buffers(case: Case) -> Iterator[Cause]:
    """What it flags: a copy of a model that follows its parameters and not its running statistics.

    Why: BatchNorm's running_mean and running_var are buffers: parameters() does not list them. An average, or a target
    network, that is used in evaluation mode normalises by the statistics of the moment when it was copied, of an
    untrained model as a rule, and computes something else than the weights that it holds would.

    Wrong:
        for averaged, one in zip(teacher.parameters(), model.parameters()):
            averaged.mul_(0.99).add_(one, alpha=0.01)

    Right:
        for averaged, one in zip(teacher.parameters(), model.parameters()):
            averaged.mul_(0.99).add_(one, alpha=0.01)
        for kept, one in zip(teacher.buffers(), model.buffers()):
            kept.copy_(one)

    Do instead: copy the buffers as well, or average everything in state_dict(), as torch's AveragedModel does.

    How it is found: outside of optimizers the weights of one model's batch normalisation are written from those of
    another model, whose own normalises by the batch. The first one is called with its running statistics after that,
    and no operator has written to them since.
    """
    flow = dataflow(case)
    calls = list(_normalisations(flow))
    trained = {one.weight: one for one in calls if _is_by_batch(flow, one)}
    renewed = {one.mean for one in trained.values()}
    followed = _followed(flow, {one.weight for one in calls}, trained)
    memory = _memories(flow) if followed else {}
    written = {memory.get(one, one): at for at, storages in flow.written.items() for one in storages}  # last
    anonymous = _anonymous_writes(flow) if followed else {}
    stale: dict[_Normalisation, tuple[int, int]] = {}
    for one in calls:
        source, at = followed.get(one.weight, (0, len(flow.operations)))
        rests = written.get(one.mean, -1) < at and one.mean not in renewed and anonymous.get(one.shape, -1) < at
        if at < one.at and rests:
            stale[one] = source, at
    if not stale:
        return
    first, (_, at) = next(iter(stale.items()))
    operation, used = flow.operations[at], flow.operations[first.at]
    names = {one.storage: one.leaf.rpartition(".")[0] for one in flow.tensors.values() if one.leaf}
    found = dict.fromkeys(names.get(one.weight) or names.get(source) or "" for one, (source, _) in stale.items())
    layers = tuple(name for name in found if name)
    of = f"of {several(layers)}" if layers else "of a normalisation"
    message = f"this follows the parameters {of}, and not the running statistics: those are still as they were copied"
    related = (Related("used_at", used.site, "normalises by them"),)
    op, module = operation.operation.name, next(iter(layers), None)
    yield Cause(message, _listed_at(case, operation), related, certain=False, module=module, op=op)


def _listed_at(case: Case, operation: FlowOperation) -> Site | None:
    """The line that says what is averaged: of a loop over parameters its head, and else that of the operator."""
    loop = None if operation.site is None else syntax(case).loop(operation.site)
    if operation.site is None or not isinstance(loop, ast.For):
        return operation.site
    if names_in(loop.target).isdisjoint(names_in(*source_lines.at(case, operation.site))):
        return operation.site  # a training loop, say
    return source_lines.line(case, operation.site.file, loop.lineno, operation.site.function)


def _memories(flow: RecordedDataflow) -> dict[int, int]:
    """Storages that are another's under a new number: deepcopy gives a tensor its memory after it was made."""
    found: dict[int, int] = {}
    for operation in flow.operations:
        if base_name(operation.operation.name) == "detach" and operation.reads and operation.makes:
            read, made = flow.tensors.get(operation.reads[0].tensor), flow.tensors.get(operation.makes[0])
            if read is not None and made is not None and read.storage != made.storage:
                found[made.storage] = found.get(read.storage, read.storage)
    return found


def _anonymous_writes(flow: RecordedDataflow) -> dict[tuple[int, ...], int]:
    """By the shape of what is no parameter's memory, and may be a buffer's: where something was last written to it."""
    found: dict[tuple[int, ...], int] = {}
    parameters = {one.storage for one in flow.tensors.values() if one.parameter}
    for at, storages in flow.written.items():
        operation = flow.operations[at]
        if _follows(operation) and not storages <= parameters:
            tensors = (flow.tensors.get(number) for number in operation.makes)
            found.update((one.type.shape, at) for one in tensors if one is not None and one.storage not in parameters)
    return found


def _follows(operation: FlowOperation) -> bool:
    return base_name(operation.operation.name) in _WRITES and operation.backward is None and not is_optimizer(operation)


def _normalisations(flow: RecordedDataflow) -> Iterator[_Normalisation]:
    for at, operation in enumerate(flow.operations):
        if operation.backward is None and len(operation.reads) == _INPUTS and _normalises(operation):
            tensors = [flow.tensors.get(read.tensor) for read in operation.reads]
            weight, mean = tensors[1], tensors[3]
            if weight is not None and mean is not None and weight.parameter:
                yield _Normalisation(at, weight.storage, mean.storage, weight.type.shape)


def _normalises(operation: FlowOperation) -> bool:
    return _NORMALISES in base_name(operation.operation.name)


def _is_by_batch(flow: RecordedDataflow, one: _Normalisation) -> bool:
    """Whether it computes the batch's own statistics: it hands them to its backward, and nothing where it does not."""
    made = [flow.tensors.get(number) for number in flow.operations[one.at].makes[1:2]]
    return bool(made) and made[0] is not None and made[0].type.shape != (0,)


def _followed(
    flow: RecordedDataflow, weights: set[int], trained: dict[int, _Normalisation]
) -> dict[int, tuple[int, int]]:
    """By the storage of a weight of a normalisation: that of one that is trained, from which it is written, and where
    first."""
    found: dict[int, tuple[int, int]] = {}
    for at, storages in flow.written.items():
        operation = flow.operations[at]
        if not weights.isdisjoint(storages - found.keys()) and _follows(operation):
            for storage, source in _pairs(flow, operation, storages):
                if storage in weights and storage != source and source in trained:
                    found.setdefault(storage, (source, at))
    return found


def _pairs(flow: RecordedDataflow, operation: FlowOperation, storages: set[int]) -> Iterator[tuple[int, int]]:
    """What is written by an operator, and what it is written from: the lists of a foreach one by one."""
    tensors = [flow.tensors.get(one.tensor) for one in operation.reads]
    known = [(one.storage, one.type.shape) if one is not None else (0, ()) for one in tensors]
    count = len(storages)
    if len(known) >= 2 * count and {storage for storage, _ in known[:count]} == storages:
        pairs = zip(known[:count], known[count : 2 * count], strict=True)
        yield from ((one, other) for (one, shape), (other, same) in pairs if shape == same)
