"""Runs a recorded backward again and compares every node's results with the recorded ones, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from gradscope.errors import NothingCheckedError
from gradscope.execution.machine import Machine, NotRepeatableError
from gradscope.execution.sums import Sums
from gradscope.model.dispatch import Dispatch, Exchange, Phase, Place, StoredBackward
from gradscope.model.execution import Execution, NodeOutcome, NodeStatus
from gradscope.model.graph import Graph
from gradscope.probes.operators.tensor_data import conditions
from gradscope.probes.tensors.storages import digest
from gradscope.torch_internals.find import bound

MOST_THREADS = 1024
_MARKS = "profiler."  # operators that tell the profiler where the program is, and touch no memory
PRECISIONS = ("highest", "high", "medium")
_OTHER_SUM = "the gradients that meet at its input are added in another order, and so their sum is rounded otherwise"
_UNSEEN = "what it passes on was made out of sight (compiled, or not by torch)"


def execute(graph: Graph, stored: StoredBackward, order: Sequence[int] | None = None) -> Execution:
    """Run it in the recorded order, or in another. When a node differs, all is run twice, to see whether that stays.

    Raises NothingCheckedError when the recorded sums are not understood, so that no other order can be run.
    """
    try:
        return _execute(graph, stored, order)
    except NotRepeatableError as error:
        raise NothingCheckedError(f"it cannot be run in another order: {error}") from None


def _execute(graph: Graph, stored: StoredBackward, order: Sequence[int] | None) -> Execution:
    with as_recorded(stored):
        found = _Run(graph, stored, order).outcomes()
        first = next((one for one in found if one[0].status is NodeStatus.DIFFERS), None)
        if first is not None:
            again = first in _Run(graph, stored, order).outcomes()
            found = [(replace(one[0], again=again), one[1]) if one is first else one for one in found]
        threads = torch.get_num_threads()
    outcomes = tuple(outcome for outcome, _ in found)
    recorded = order is None or tuple(order) == tuple(each.node for each in stored.exchanges)
    return Execution(graph.backward.number, outcomes, recorded, torch.__version__, threads)


@contextmanager
def as_recorded(stored: StoredBackward) -> Iterator[None]:
    """torch with the number of threads and the switches of the recorded run; afterwards as it was."""
    before = conditions()
    with torch.no_grad(), torch.random.fork_rng():
        try:
            _switch({**before, **stored.conditions})
            yield
        finally:
            _switch(before)


def _switch(wanted: Mapping[str, bool | int | str]) -> None:
    precision, dtype = str(wanted["matmul_precision"]), getattr(torch, str(wanted["default_dtype"]), None)
    torch.set_num_threads(min(max(int(wanted["threads"]), 1), MOST_THREADS))
    torch.use_deterministic_algorithms(bool(wanted["deterministic"]), warn_only=True)
    torch.set_float32_matmul_precision(precision if precision in PRECISIONS else "highest")
    torch.set_default_dtype(dtype if isinstance(dtype, torch.dtype) and dtype.is_floating_point else torch.float32)
    bound("torch._C._set_mkldnn_enabled")(bool(wanted["mkldnn"]))


@dataclass(slots=True)
class _Group:
    """What ran for one node; `exchange` is None for a node that raised, and for those whose gradient was captured."""

    node: int | None
    calls: list[Dispatch]
    exchange: Exchange | None = None


class _Run:
    """One execution."""

    def __init__(self, graph: Graph, stored: StoredBackward, order: Sequence[int] | None) -> None:
        self._stored, self._machine = stored, Machine(stored)
        recorded = [exchange.node for exchange in stored.exchanges]
        self._sums = None if order is None or list(order) == recorded else Sums(graph, stored, self._machine)
        first, groups = _groups(stored)
        self._order = [groups.pop(node) for node in (recorded if order is None else order) if node in groups]
        self._order.insert(0, _Group(None, first))
        self._rest = list(groups.values())
        self._met = {tensor.storage for tensor in stored.tensors}  # storages that gradients may lie in

    def outcomes(self) -> list[tuple[NodeOutcome, tuple[str, ...]]]:
        """The outcome of each node, with digests of all it made."""
        groups = [*self._order, *self._rest]
        last = {storage: number for number, group in enumerate(groups) for storage in _storages(group)}
        found = []
        for number, group in enumerate(groups):
            found.append(self._node(group))
            if self._sums is None:  # in another order a sum may lie elsewhere
                self._machine.forget(storage for storage in _storages(group) if last[storage] == number)
        if self._sums is not None:
            captured = self._sums.nodes - {outcome.node for outcome, _ in found}
            found += [(self._captured(node), ()) for node in sorted(captured)]
        return [one for one in found if one[0].node >= 0]

    def _node(self, group: _Group) -> tuple[NodeOutcome, tuple[str, ...]]:
        node = -1 if group.node is None else group.node
        start = len(self._machine.made)
        wrong = NodeOutcome(node, NodeStatus.EQUAL)
        if self._sums is not None and not self._sums.settle(node):
            wrong = NodeOutcome(node, NodeStatus.DIFFERS, None, _OTHER_SUM)
        for call in group.calls:
            if call.phase is not Phase.AFTER:
                wrong = _worse(wrong, self._call(node, call))
        if group.exchange is not None:
            wrong = _worse(wrong, self._passed(group.exchange))
        made = tuple(self._machine.made[start:])
        wrong = _worse(wrong, self._add(group))
        return wrong, made

    def _add(self, group: _Group) -> NodeOutcome:
        """Add up what the node passed on: by the recorded additions, or in this order's own way."""
        node, outcome = -1 if group.node is None else group.node, NodeOutcome(-1, NodeStatus.EQUAL)
        if self._sums is None:
            for call in group.calls:
                if call.phase is Phase.AFTER:
                    outcome = _worse(outcome, self._call(node, call))
        elif group.exchange is not None:
            try:
                self._sums.arrive(group.exchange)
            except NotRepeatableError as error:
                outcome = NodeOutcome(node, NodeStatus.NOT_REPEATED, None, str(error))
        return outcome

    def _call(self, node: int, call: Dispatch) -> NodeOutcome:
        if _writes(call):
            self._met.update(place.storage for place in places(call.results))
        try:
            for detail in self._machine.call(call):
                return NodeOutcome(node, NodeStatus.DIFFERS, call.operator, detail)
        except NotRepeatableError as error:
            return NodeOutcome(node, NodeStatus.NOT_REPEATED, call.operator, str(error))
        return NodeOutcome(node, NodeStatus.EQUAL)

    def _passed(self, exchange: Exchange) -> NodeOutcome:
        """Compare what a node passes on, which covers what it made out of sight."""
        self._met.update(place.storage for place in exchange.received if place is not None)
        for place in exchange.passed:
            if place is None:
                continue
            if place.storage in self._stored.storages and place.storage not in self._met:
                return NodeOutcome(exchange.node, NodeStatus.NOT_REPEATED, None, _UNSEEN)
            try:
                if digest(self._machine.tensor(place)) != place.digest:
                    return NodeOutcome(exchange.node, NodeStatus.DIFFERS, None, "what it passes on has other bits")
            except NotRepeatableError as error:
                return NodeOutcome(exchange.node, NodeStatus.NOT_REPEATED, None, str(error))
        return NodeOutcome(exchange.node, NodeStatus.EQUAL)

    def _captured(self, node: int) -> NodeOutcome:
        same = self._sums is None or self._sums.settle(node)
        return NodeOutcome(node, NodeStatus.EQUAL) if same else NodeOutcome(node, NodeStatus.DIFFERS, None, _OTHER_SUM)


def _writes(call: Dispatch) -> bool:
    """Whether an operator's results lie in memory that was there before."""
    name, _, overload = call.operator.partition(".")[2].partition(".")
    return name.endswith("_") or "out" in overload


def _storages(group: _Group) -> set[int]:
    """Every storage that a node's calls and gradients lie in."""
    gradients = () if group.exchange is None else (group.exchange.received, group.exchange.passed)
    named = [(call.arguments, tuple((call.keywords or {}).values()), call.results) for call in group.calls]
    return {place.storage for place in places(*gradients, *named)}


def _worse(one: NodeOutcome, other: NodeOutcome) -> NodeOutcome:
    """The first that is not equal; that an operator differs says more than that what it led to was not repeated."""
    return other if one.status is NodeStatus.EQUAL and other.status is not NodeStatus.EQUAL else one


def _groups(stored: StoredBackward) -> tuple[list[Dispatch], dict[int | None, _Group]]:
    """The calls before any node, which add up what is given to one root several times; and the rest by node, in the
    order of the nodes' first calls.
    """
    found: dict[int | None, _Group] = {}
    calls = [call for call in stored.dispatches if not call.operator.startswith(_MARKS)]
    first = list(itertools.takewhile(lambda call: call.node is None, calls))
    for call in calls[len(first) :]:
        found.setdefault(call.node, _Group(call.node, [])).calls.append(call)
    for exchange in stored.exchanges:
        found.setdefault(exchange.node, _Group(exchange.node, [])).exchange = exchange
    return first, found


def places(*values: Any) -> Iterator[Place]:
    """Every place in arguments or results."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Place):
            yield value
        elif isinstance(value, tuple):
            waiting.extend(value)
