"""Gradients of leaves that a program receives into again and again, and sends on, while backward calls go on adding.

A stage of a pipeline by hand receives activations into a leaf of its own, which no optimizer holds, so that no
zero_grad() clears it: from the second round on it sends the sum of all rounds back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.steps.summed_by_hand import added_to
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowTensor, GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_LOOKS = 3  # backward calls that found a gradient, with which all but the first did
_SUMMED = 2  # backward calls: the one that made it, and one that added
_SENDS = "c10d.send."
_FILLS = ("recv_", "recv_any_source_", "broadcast_", "copy_")  # how a leaf gets what another rank sent
_COPIES = ("clone", "_to_copy", "detach", "alias", "view", "reshape")
_FAR = 8  # copies of one gradient


@dataclass(frozen=True, slots=True)
class SentSum:
    """The line that sends such a gradient, that of the backward calls, and how many of these found one."""

    sent: Site
    backward: Site | None
    times: int


def sent_sums(case: Case) -> Iterator[SentSum]:
    """What is told of each line that sends a gradient to which another backward then adds."""
    flow = dataflow(case)
    if not any(one.operation.name.startswith(_SENDS) for one in flow.operations):
        return
    looks = _never_cleared(case, flow)
    looked = {look.backward for look in case.leaf_gradients()}
    own = {storage for at, places in flow.written.items() if _is_own(flow, at) for storage in places}
    found: dict[Site, SentSum] = {}
    for gradient in sorted(added_to(flow)) if looks else ():
        leaf, sent = _leaf_of(flow, gradient, looks, looked), _sent_at(flow, gradient)
        if leaf is None or sent is None or gradient not in flow.tensors or flow.tensors[gradient].storage in own:
            continue  # or the program clears it, or lets it fade
        calls = {call.number: call.site for call in case.backwards()}
        found.setdefault(sent, SentSum(sent, calls.get(min(looks[leaf])), len(looks[leaf]) - 1))
    yield from found.values()


def _is_own(flow: RecordedDataflow, at: int) -> bool:
    return flow.operations[at].backward is None


def _never_cleared(case: Case, flow: RecordedDataflow) -> dict[int, list[int]]:
    """By the leaf that no optimizer holds, and into which something is received: the backward calls that came to it, of
    which all but the first found a gradient."""
    held = {one.tensor for look in case.optimizer_looks() for one in look.parameters}
    states: dict[int, list[tuple[int, GradientState]]] = defaultdict(list)
    for look in case.leaf_gradients():
        if look.backward in case.graph_sizes():
            states[look.tensor].append((look.backward, look.state))
    filled = _filled(flow)
    return {
        leaf: [backward for backward, _ in sorted(seen)]
        for leaf, seen in states.items()
        if leaf not in held and _is_slot(flow.tensors.get(leaf), filled)
        if len(seen) > _LOOKS and all(state is GradientState.VALUES for _, state in sorted(seen)[1:])
    }


def _is_slot(leaf: FlowTensor | None, filled: set[int]) -> bool:
    return leaf is not None and not leaf.parameter and leaf.storage in filled


def _filled(flow: RecordedDataflow) -> set[int]:
    """The memory that something is received into, or copied, more than once outside of backward calls."""
    times: dict[int, int] = defaultdict(int)
    for operation in flow.operations:
        if operation.backward is None and base_name(operation.operation.name) in _FILLS and operation.reads:
            tensor = flow.tensors.get(operation.reads[0].tensor)
            if tensor is not None:
                times[tensor.storage] += 1
    return {storage for storage, count in times.items() if count > 1}


def _leaf_of(flow: RecordedDataflow, gradient: int, looks: dict[int, list[int]], looked: set[int]) -> int | None:
    """The leaf whose gradient that is: of its type, in all backward calls that made it or added to it, as far as those
    were looked at: in a long run, operators are seen of others too."""
    calls = {flow.operations[at].backward for at in flow.makers[gradient]} & looked
    if len(calls) < _SUMMED:
        return None
    known = flow.tensors.get(gradient)
    for leaf, backwards in looks.items():
        if known is not None and flow.tensors[leaf].type == known.type and calls <= set(backwards):
            return leaf
    return None


def _sent_at(flow: RecordedDataflow, gradient: int) -> Site | None:
    """The line that sends a gradient, or a copy of it, before the last backward that added to it."""
    last = flow.makers[gradient][-1]
    waiting, seen = [gradient], {gradient}
    while waiting and len(seen) < _FAR:
        for at in flow.readers.get(waiting.pop(0), ()):
            operation = flow.operations[at]
            if at > last or operation.backward is not None:
                continue
            if operation.operation.name.startswith(_SENDS):
                return operation.site
            if base_name(operation.operation.name) in _COPIES:
                waiting += [one for one in operation.makes if one not in seen]
                seen.update(operation.makes)
    return None
