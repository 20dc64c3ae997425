"""Terms of a loss that numpy or Python computed of a result: they come back as tensors that know nothing of it.

The recording has both ends, what was taken out and what is added; the way between them is read in the source.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.gradients.lost_parts import losses_of_steps, summands
from gradscope.explain.deductions.lines.ways_outside import TakenOut, ways_outside
from gradscope.explain.deductions.steps.optimizer_parameters import optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, leaves_torch
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_frames
from gradscope.store.asked import kept

_TIMES = 2
_KEEPS = (
    "mul",
    "div",
    "neg",
    "sum",
    "mean",
    "squeeze",
    "unsqueeze",
    "view",
    "_to_copy",
    "clone",
    "lift_fresh",
    "alias",
)
_SUMS = ("add", "sub", "rsub", "stack", "cat")
_MOST = 64


@dataclass(frozen=True, slots=True)
class TermFromOutside:
    """`taken` takes a value out of torch, `back` makes a tensor of what was computed of it, `added` adds that."""

    taken: Site
    back: Site | None
    added: Site | None


@dataclass(frozen=True, slots=True)
class _Step:
    """The operators of a step up to its loss, from `began` on; `adding` are those that the loss is a sum by."""

    began: int
    ended: int
    adding: frozenset[int]


@kept
def terms_from_outside(case: Case) -> tuple[TermFromOutside, ...]:
    """The terms that a loss had in two steps or more (one that begins late is seen in few), each by the first line that
    took out what it was made of."""
    flow = dataflow(case)
    found = defaultdict[Site, list[TermFromOutside]](list)
    for root, began in losses_of_steps(case):
        terms = list(summands(flow, root.tensor))
        ended = flow.maker(root.tensor, len(flow.operations))
        if ended is not None and not any(_is_detached(flow, one, before) for one, before in terms):
            step = _Step(began, ended, frozenset(before for _, before in terms))
            told = {one.taken: one for summand, before in terms for one in _outside(case, step, summand, before)}
            for site, one in told.items():
                found[site].append(one)
    return tuple(ones[0] for ones in found.values() if len(ones) >= _TIMES)


def _is_detached(flow: RecordedDataflow, summand: int, before: int) -> bool:
    """Whether a summand is a result that was detached: it takes the value off again, and leaves another there."""
    makers = (flow.operations[at] for at, _ in _kept_way(flow, summand, before))
    return any(read.requires_grad for one in makers for read in one.reads)


def _outside(case: Case, step: _Step, summand: int, before: int) -> Iterator[TermFromOutside]:
    flow = dataflow(case)
    for tensor, seen in _made_of_none(flow, step, summand, before):
        operation = flow.operations[seen]
        exits = ways_outside(case, operation.operation.stack, tensor in operation.makes)
        lines = {one: _taken_at(case, step, one, seen) for one in exits}
        taken = {one: site for one, site in lines.items() if site is not None}
        if taken and not _weighs(flow, step, tensor) and not _weighed_beside(case, step, frozenset(taken), tensor):
            first = min(taken.values(), key=lambda site: (site.file, site.line))
            yield TermFromOutside(first, operation.site, flow.operations[before].site)


def _made_of_none(flow: RecordedDataflow, step: _Step, summand: int, before: int) -> Iterator[tuple[int, int]]:
    """The tensors that a summand is a sum of and that were made in this step of no other tensor, each with the
    operator that it was seen by first."""
    for tensor in {summand, *(tensor for _, tensor in _kept_way(flow, summand, before))}:
        if _is_made_of_none(flow, tensor):
            seen = _first_seen(flow, tensor)
            if seen is not None and seen >= step.began:
                yield tensor, seen


def _kept_way(flow: RecordedDataflow, summand: int, before: int) -> Iterator[tuple[int, int]]:
    """The operators that made a number, and what they read, back to where it is no sum of numbers any more."""
    waiting, seen = [(summand, before)], {summand}
    while waiting and len(seen) < _MOST:
        tensor, until = waiting.pop()
        at = flow.maker(tensor, until)
        if at is not None:
            operation = flow.operations[at]
            keeps = _keeps(operation)
            for read in operation.reads:
                yield at, read.tensor
                if keeps and read.tensor not in seen:
                    seen.add(read.tensor)
                    waiting.append((read.tensor, at))


def _keeps(operation: FlowOperation) -> bool:
    name = base_name(operation.operation.name).rstrip("_")
    return name in _SUMS or (name in _KEEPS and len(operation.reads) == 1)


def _is_made_of_none(flow: RecordedDataflow, tensor: int) -> bool:
    makers = [flow.operations[at] for at in flow.makers.get(tensor, ())]
    known = flow.tensors.get(tensor)
    is_real = known is not None and known.type.dtype.startswith(("float", "bfloat"))
    return is_real and all(base_name(one.operation.name) == "lift_fresh" for one in makers)


def _first_seen(flow: RecordedDataflow, tensor: int) -> int | None:
    return min([*flow.makers.get(tensor, ()), *flow.readers.get(tensor, ())], default=None)


def _taken_at(case: Case, step: _Step, taken: TakenOut, before: int) -> Site | None:
    """The line on which an expression took out, in a step, what requires grad and was computed in this step.

    What a backward starts from has its gradient given by hand.
    """
    flow, held = dataflow(case), optimizer_parameters(case).held
    roots = {root.tensor for root in flow.roots}
    for line in taken.lines:
        places = (_exits if taken.seen else _learning)(case).get((taken.file, line), ())
        for at in places[bisect_left(places, step.began) : bisect_left(places, before)]:
            if not taken.seen:
                return taken.site if roots.isdisjoint(flow.operations[at].makes) else None
            for read in flow.operations[at].reads:
                maker = flow.maker(read.tensor, at)
                is_new = read.tensor in held or (maker is not None and maker >= step.began)
                if read.requires_grad and is_new and read.tensor not in roots:
                    return flow.operations[at].site
    return None


@kept
def _learning(case: Case) -> dict[tuple[str, int], list[int]]:
    """By each line of a stack, the operators that recorded a graph."""
    flow, found = dataflow(case), defaultdict[tuple[str, int], list[int]](list)
    for at, one in enumerate(flow.operations):
        if flow.reads_learned(at) and one.makes:
            for site in set(user_frames(one.operation.stack)):
                found[site.file, site.line].append(at)
    return found


@kept
def _exits(case: Case) -> dict[tuple[str, int], list[int]]:
    """By line, the operators that cut a value off or hand it to Python."""
    found = defaultdict[tuple[str, int], list[int]](list)
    for at, one in enumerate(dataflow(case).operations):
        is_exit = leaves_torch(one) or base_name(one.operation.name) in ("detach", "alias")
        if one.backward is None and one.site is not None and is_exit:
            found[one.site.file, one.site.line].append(at)
    return found


def _weighs(flow: RecordedDataflow, step: _Step, tensor: int) -> bool:
    """Whether a value is also something else to what has a graph than a summand: a factor, or what is taken off."""
    waiting, seen = [tensor], {tensor}
    while waiting:
        for at in flow.readers.get(waiting.pop(), ()):
            one = flow.operations[at]
            if one.backward is not None or at in step.adding:
                continue
            if any(read.requires_grad for read in one.reads):
                return True
            new = [made for made in one.makes if made not in seen]
            seen.update(new)
            waiting += new
    return False


def _weighed_beside(case: Case, step: _Step, taken: frozenset[TakenOut], own: int) -> bool:
    """Whether something else that was computed of the same values weighs what has a graph: gradients by hand."""
    flow = dataflow(case)
    for at in range(step.began, step.ended):
        one = flow.operations[at]
        if one.backward is None and any(read.requires_grad for read in one.reads) and at not in step.adding:
            for read in one.reads:
                if not read.requires_grad and read.tensor != own and _comes_of(case, step, read.tensor, taken):
                    return True
    return False


def _comes_of(case: Case, step: _Step, tensor: int, taken: frozenset[TakenOut]) -> bool:
    """Whether a tensor was made of no other in this step, of what was taken out."""
    flow = dataflow(case)
    makers = [flow.operations[at] for at in flow.makers.get(tensor, ())]
    seen = _first_seen(flow, tensor)
    if seen is None or seen < step.began or any(base_name(one.operation.name) != "lift_fresh" for one in makers):
        return False
    operation = flow.operations[seen]
    return not taken.isdisjoint(ways_outside(case, operation.operation.stack, tensor in operation.makes))
