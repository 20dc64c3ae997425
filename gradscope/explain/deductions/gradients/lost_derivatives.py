"""Finds derivatives with respect to an input that lack a part: something on the way from it had no graph.

Forces are such derivatives. Torch says nothing, since the rest of the output depends on the input all the same, and
parameters get their gradients. What a program detaches with a word on the value itself it may well mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.lines.graph_cuts import MODE, MissingGradient, bare_cut
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, dataflow
from gradscope.model.finding import Severity
from gradscope.model.flow import FlowEnd
from gradscope.model.operation import base_name
from gradscope.store.asked import kept

_SHIFTS = ("amax", "max", "amin", "min", "logsumexp")  # what is subtracted and added again, for the numbers' sake
_FLOATS = ("float", "bfloat", "complex")


@kept
def lost_derivatives(case: Case) -> tuple[MissingGradient, ...]:
    """The cuts between an input and an output whose derivative by it goes into a loss, each line once."""
    flow, found = dataflow(case), dict[object, MissingGradient]()
    calls = {call.number for call in case.backwards() if call.kind == "grad" and call.create_graph}
    for end in flow.ends:
        known = flow.tensors.get(end.tensor)
        if end.target and end.requires_grad and end.backward in calls and known is not None and not known.parameter:
            for cut in _cuts(flow, end):
                one = bare_cut(case, cut)
                severity = Severity.WARNING if one.code == MODE else Severity.INFO
                cause = replace(one.cause, certain=False, severity=severity, tensor=known.leaf, backward=end.backward)
                found.setdefault(one.cause.site, replace(one, cause=cause, derivative=True))
    return tuple(found.values())


def _cuts(flow: RecordedDataflow, end: FlowEnd) -> Iterator[Cut]:
    cuts = [cut for cut in flow.onward(end.tensor).cuts if _is_part_of_a_value(flow, cut)]
    if cuts:
        roots = [root.tensor for root in flow.roots if root.backward == end.backward and root.requires_grad]
        behind = _behind(flow, roots)
        yield from (cut for cut in cuts if cut.made in behind)


def _is_part_of_a_value(flow: RecordedDataflow, cut: Cut) -> bool:
    """Whether what was cut off has a derivative that counts."""
    made = None if cut.made is None else flow.tensors.get(cut.made)
    name = base_name(flow.operations[cut.operation].operation.name)
    return made is not None and made.type.dtype.startswith(_FLOATS) and name not in _SHIFTS


def _behind(flow: RecordedDataflow, roots: list[int]) -> set[int]:
    """The tensors that some others were computed from; what an index or a mask rests on chooses, and is no part."""
    seen: set[int] = set()
    waiting = [(root, len(flow.operations)) for root in roots]
    walked: dict[int, int] = {}
    while waiting:
        tensor, before = waiting.pop()
        if tensor not in seen and not flow.is_whole(tensor):
            seen.add(tensor)
            for at in flow.sources(tensor, before, walked):
                waiting += [(read.tensor, at) for read in flow.operations[at].reads]
    return seen
