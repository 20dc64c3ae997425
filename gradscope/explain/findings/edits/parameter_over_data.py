"""GS829: a parameter that lies over the memory of data which the loss goes on reading."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.site import Site

_TIMES = 2
_MAKES = ("Parameter", "from_pretrained", "requires_grad_")


def parameter_over_data(case: Case) -> Iterator[Cause]:
    """What it flags: a parameter is made of data, or of a slice of it, and the loss goes on reading the data.

    Why: nn.Parameter(data[:, :2]) and nn.Embedding.from_pretrained(data, freeze=False) copy nothing. Each step of the
    optimizer writes into the data too: the loss falls because its own targets move.

    Wrong:
        self.points = nn.Parameter(data[:, :2])
        loss = stress(self.points, data)

    Right:
        self.points = nn.Parameter(data[:, :2].clone())
        loss = stress(self.points, data)

    Do instead: make the parameter of a clone().

    How it is found: after steps have written to the only leaf over a memory, operators with gradients on read the same
    memory by a tensor that is older than the leaf; the numbers that they made go into a loss.
    """
    flow = dataflow(case)
    stepped = _stepped(flow)
    memories = _memories(flow, stepped)
    numbers: frozenset[int] | None = None
    for storage, (leaf, first) in stepped.items():
        readers = list(_readers(flow, memories[storage], leaf, first))
        if len(readers) < _TIMES:
            continue
        numbers = numbers or _numbers_of_losses(flow)
        reading = [at for at in readers if not numbers.isdisjoint(flow.operations[at].makes)]
        site = _made_at(case, flow, leaf) if len(reading) >= _TIMES else None
        if site is not None:
            place = flow.operations[reading[0]].site
            yield Cause(
                "this parameter lies over the memory of data that the loss reads: each step of the optimizer writes "
                "into the data as well",
                site,
                () if place in (None, site) else (Related("called_at", place, "the data is read"),),
                tensor=flow.tensors[leaf].leaf,
            )


def _stepped(flow: RecordedDataflow) -> dict[int, tuple[int, int]]:
    """By memory, its one leaf that is written to once there were gradients, and the operator that did so first."""
    found: dict[int, dict[int, int]] = {}
    trained = next((at for at, one in enumerate(flow.operations) if one.backward is not None), len(flow.operations))
    for at in flow.written:
        for tensor in flow.operations[at].makes if at > trained else ():
            if flow.sets_leaf(at, tensor) and tensor in flow.tensors:
                found.setdefault(flow.tensors[tensor].storage, {}).setdefault(tensor, at)
    return {storage: next(iter(leaves.items())) for storage, leaves in found.items() if len(leaves) == 1}


def _memories(flow: RecordedDataflow, storages: Iterable[int]) -> dict[int, set[int]]:
    """The tensors over each memory."""
    found: dict[int, set[int]] = {storage: set() for storage in storages}
    for one in flow.tensors.values():
        if one.storage in found:
            found[one.storage].add(one.number)
    return found


def _readers(flow: RecordedDataflow, inside: set[int], leaf: int, after: int) -> Iterator[int]:
    """The operators with gradients on that read data of a memory, after a place, and made other tensors of it."""
    for tensor in sorted(inside):
        if tensor == leaf or _is_of_leaf(flow, inside, tensor, leaf):
            continue
        for at in flow.readers.get(tensor, ()):
            operation = flow.operations[at]
            is_forward = operation.backward is None and operation.operation.grad
            if at > after and is_forward and not inside & set(operation.makes):
                yield at


def _is_of_leaf(flow: RecordedDataflow, inside: set[int], tensor: int, leaf: int) -> bool:
    """Whether a tensor is, or may be, a view of the leaf, as its detach() is, and not of what the leaf was made of."""
    seen = {tensor}
    while tensor != leaf:
        first = next(iter(flow.makers.get(tensor, ())), None)
        reads = () if first is None else flow.operations[first].reads
        before = next((one.tensor for one in reads if one.tensor in inside and one.tensor not in seen), None)
        if before is None:
            return _first_met(flow, tensor) >= _first_met(flow, leaf)
        seen.add(before)
        tensor = before
    return True


def _first_met(flow: RecordedDataflow, tensor: int) -> int:
    return min([*flow.makers.get(tensor, ())[:1], *flow.readers.get(tensor, ())[:1]], default=len(flow.operations))


def _numbers_of_losses(flow: RecordedDataflow) -> frozenset[int]:
    """The tensors whose numbers went into a loss, and not only the places or the choices that they led to."""
    seen: set[int] = set()
    walked: dict[int, int] = {}
    waiting = [(root.tensor, len(flow.operations)) for root in flow.roots]
    while waiting:
        one, before = waiting.pop()
        if one in seen or flow.is_whole(one):
            continue
        seen.add(one)
        for at in flow.sources(one, before, walked):
            waiting += [(read.tensor, at) for read in flow.operations[at].reads if read.tensor not in seen]
    return frozenset(seen)


def _made_at(case: Case, flow: RecordedDataflow, leaf: int) -> Site | None:
    """The line that made the leaf: what the recording tells, where it says so, or the only one that can have."""
    first = next(iter(flow.makers.get(leaf, ())), None)
    site = None if first is None else flow.operations[first].site
    calls = list(syntax(case).everywhere(_makes_a_leaf))
    if site in calls:
        return site
    return calls[0] if len(calls) == 1 else None


def _makes_a_leaf(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called_name(node) in _MAKES
