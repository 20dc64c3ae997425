"""Whether the rounds of a training are passes over the same data: each takes all of it once, in parts.

Told by the steps whose tensors were followed, but the first of each round, before which other things run. What a loss
is made of, and its step did not compute, are parameters and other things that were there before, whole numbers that
choose a part, and parts of what the other rounds take parts of, too. A round that has data of its own, as that of
another task, is no such pass.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gradscope.explain.deductions.steps.remade_optimizers import Round
from gradscope.explain.deductions.steps.rewritten import is_rewritten
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowTensor
from gradscope.model.operation import base_name
from gradscope.store.asked import kept

_ONE = ("select",)  # takes one of what it reads
_TAKES = ("index", "index_select", "slice", "split", "split_with_sizes", "chunk", "narrow", "unbind", *_ONE)
_LEAST = 2  # rounds that were seen, or steps of one


@dataclass(slots=True)
class _Read:
    """What the loss of one step was made of: the parts that it took, by what it took them of, and all that was there
    before."""

    parts: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    others: set[int] = field(default_factory=set)


def are_passes(case: Case, rounds: tuple[Round, ...]) -> bool:
    """Whether rounds of several steps are passes over the same data, one each."""
    sizes = [len(one.backwards) for one in rounds]
    if len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0]:
        return False
    seen = [(one, reads) for one in rounds if (reads := _reads(case, one))]
    own = [{tensor for read in reads for tensor in (*read.parts, *read.others)} for _, reads in seen]
    if any(is_rewritten(case, tensor) for _, reads in seen for tensor in reads[0].parts):
        return False
    return len(seen) >= _LEAST and all(
        own[0] == others and any(_is_pass(case, one, reads, tensor) for tensor in reads[0].parts)
        for (one, reads), others in zip(seen, own, strict=True)
    )


def draws_anew(case: Case, one: Round) -> bool:
    """Whether each step of a round is made of parameters and of what it draws itself: the round has no data."""
    flow, reads = dataflow(case), _reads(case, one)
    learned = {tensor.storage for tensor in flow.tensors.values() if tensor.parameter}
    read = {tensor for step in reads for tensor in (*step.parts, *step.others)}
    return len(reads) >= _LEAST and all(one in flow.tensors and flow.tensors[one].storage in learned for one in read)


def _reads(case: Case, one: Round) -> list[_Read]:
    """What the steps of a round read, its first left out."""
    found = (_of_backwards(case).get(number) for number in one.backwards[1:])
    return [read for read in found if read is not None]


def _is_pass(case: Case, one: Round, reads: list[_Read], tensor: int) -> bool:
    """Whether the parts that the steps take of a tensor are others each time, and over the round about all of it."""
    flow, parts = dataflow(case), [part for read in reads for part in read.parts.get(tensor, ())]
    if len(parts) != len(set(parts)):
        return False
    rows = max(sum(_rows(flow, part) for part in read.parts.get(tensor, ())) for read in reads)
    return abs(rows * len(one.backwards) - flow.shape(tensor)[0]) < rows


def _rows(flow: RecordedDataflow, part: int) -> int:
    """How many rows a part has: what was selected is one."""
    at = flow.maker(part, len(flow.operations))
    is_one = at is not None and base_name(flow.operations[at].operation.name) in _ONE
    return 1 if is_one or not flow.shape(part) else flow.shape(part)[0]


@kept
def _of_backwards(case: Case) -> dict[int, _Read]:
    """By backward call: what its loss read, where its operators were followed."""
    flow, found = dataflow(case), dict[int, _Read]()
    for root in flow.roots:
        at = flow.maker(root.tensor, len(flow.operations))
        if at is not None and flow.operations[at].backward is None and root.backward not in found:
            found[root.backward] = _read_by(case, flow, root.tensor, flow.operations[at].run)
    return found


def _read_by(case: Case, flow: RecordedDataflow, root: int, run: int) -> _Read:
    """What a loss was made of that was there before its own stretch of operators, and the parts that were taken."""
    found, walked = _Read(), dict[int, int]()
    waiting, seen = [root], {root}
    while waiting:
        case.pace()
        tensor = waiting.pop()
        whole, last = _whole(case, tensor), len(flow.operations)
        if whole is not None and not any(flow.operations[at].run == run for at in flow.makers.get(whole, ())):
            found.parts[whole].append(tensor)
            continue
        own = [at for at in flow.sources(tensor, last, walked) if flow.operations[at].run == run]
        if not own:
            found.others.add(tensor)
        new = {one.tensor for at in own for one in flow.operations[at].reads} - seen
        seen |= new
        waiting += new
    return found


def _whole(case: Case, part: int) -> int | None:
    """What a tensor is a part of, some of its rows; None where it is not, or of a parameter."""
    flow = dataflow(case)
    known = _memory_of(case, part)
    at = flow.maker(part, len(flow.operations)) if known is None else None
    if at is not None and flow.operations[at].reads and base_name(flow.operations[at].operation.name) in _TAKES:
        known = flow.tensors.get(flow.operations[at].reads[0].tensor)
    return None if known is None or known.parameter or not known.type.shape else known.number


def _memory_of(case: Case, part: int) -> FlowTensor | None:
    """The tensor with more rows whose memory another one has, which may have been made out of sight: it is a view."""
    flow = dataflow(case)
    whole = _firsts(case).get(flow.tensors[part].storage) if part in flow.tensors else None
    is_part = whole is not None and flow.shape(part)[1:] == whole.type.shape[1:]
    return whole if whole is not None and is_part and flow.shape(part) < whole.type.shape else None


@kept
def _firsts(case: Case) -> dict[int, FlowTensor]:
    """By memory: the first tensor that had it."""
    found: dict[int, FlowTensor] = {}
    for one in dataflow(case).tensors.values():
        found.setdefault(one.storage, one)
    return found
