"""Gradients that a program uses by hand between backward calls that go on adding to them.

A backward that finds a gradient adds to it in place; one that was cleared with None gets a new one. A program that
writes to the gradient in between clears it, or lets it fade, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_FAR = 16  # operators from a gradient to what it moves
_SIGN, _MOVES = "sign", ("add_", "sub_", "addcmul_", "addcdiv_")  # not copy_: a place that is made of the sum is meant


@dataclass(frozen=True, slots=True)
class SummedByHand:
    """The line that uses such a gradient, that of the backward calls, and how often it used a sum."""

    update: Site
    backward: Site | None
    times: int


def summed_by_hand(case: Case) -> Iterator[SummedByHand]:
    """What is told of each line that moves a leaf by its gradient, where that is a sum each time but the first."""
    flow, sites = dataflow(case), {call.number: call.site for call in case.backwards()}
    calls: dict[tuple[Site, Site | None], set[int]] = defaultdict(set)
    added = added_to(flow)
    if not added:
        return
    leaves = _learned(flow)
    outside = (places for at, places in flow.written.items() if flow.operations[at].backward is None)
    own = {one for places in outside for one in places}  # by another name as well: .grad.data.zero_()
    for gradient in added:
        updates = _updates(flow, gradient, leaves, own)
        if updates is not None:
            for at, backward in updates:
                site = flow.operations[at].site
                if site is not None:
                    calls[site, sites.get(backward)].add(backward)
    for (site, call), found in calls.items():
        yield SummedByHand(site, call, len(found))


def added_to(flow: RecordedDataflow) -> set[int]:
    """The tensors that a backward made and a later one wrote in place."""
    return {
        made
        for operation in flow.operations
        if operation.backward is not None and base_name(operation.operation.name) == "add_"
        for made in operation.makes
        if _made_in_backward(flow, made)
    }


def _made_in_backward(flow: RecordedDataflow, tensor: int) -> bool:
    first = flow.operations[flow.makers[tensor][0]] if flow.makers.get(tensor) else None
    return first is not None and first.backward is not None


def _updates(flow: RecordedDataflow, gradient: int, leaves: set[int], own: set[int]) -> list[tuple[int, int]] | None:
    """What follows each backward that adds: the operator that moves something by the sum; None if one has none."""
    adds = [at for at in flow.makers[gradient][1:] if flow.operations[at].backward is not None]
    first, calls = flow.operations[flow.makers[gradient][0]], [flow.operations[at].backward for at in adds]
    if len(adds) + 1 != len(flow.makers[gradient]) or len({first.backward, *calls}) != len(calls) + 1:
        return None  # written by the program, or twice in one backward
    if gradient not in flow.tensors or flow.tensors[gradient].storage in own:
        return None
    found: list[tuple[int, int]] = []
    for at, until in zip([flow.makers[gradient][0], *adds], [*adds, len(flow.operations)], strict=True):
        moved = _moves(flow, gradient, at, until, leaves)
        backward = flow.operations[at].backward
        if moved is None or backward is None:
            return None
        found.append((moved, backward))
    return found[1:]


def _moves(flow: RecordedDataflow, gradient: int, since: int, until: int, leaves: set[int]) -> int | None:
    """The first operator, of the program's own and behind a gradient, that takes its signs or writes to another."""
    waiting, seen = [gradient], {gradient}
    while waiting and len(seen) < _FAR:
        tensor = waiting.pop(0)
        for at in (one for one in flow.readers.get(tensor, ()) if since < one < until):
            operation = flow.operations[at]
            if is_optimizer(operation):
                return None
            if operation.backward is not None:
                continue
            if base_name(operation.operation.name) == _SIGN or _writes_leaf(flow, operation, leaves):
                return at
            new = [one for one in operation.makes if one not in seen]
            seen.update(new)
            waiting += new
    return None


def _writes_leaf(flow: RecordedDataflow, operation: FlowOperation, leaves: set[int]) -> bool:
    """Whether it adds in place to memory that a leaf which learns has."""
    if base_name(operation.operation.name) not in _MOVES:
        return False
    written = {one.tensor for one in operation.reads} & set(operation.makes)
    memory = {flow.tensors[one].storage for one in written if one in flow.tensors}
    return bool(memory & leaves)


def _learned(flow: RecordedDataflow) -> set[int]:
    """The memory of the leaves that require grad."""
    known = flow.tensors
    reads = (read for operation in flow.operations for read in operation.reads if read.leaf and read.requires_grad)
    return {known[read.tensor].storage for read in reads if read.tensor in known}
