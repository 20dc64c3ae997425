"""GS907: slow weights or an average of the weights that are moved away from what they are to follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.positive_factors import are_positive
from gradscope.explain.deductions.steps.running_averages import times_run
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.optimizers import is_in_step
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_TIMES = 2  # between how many backward calls: once may be a step that is meant, as one away from what was learned
_COPIES = ("clone", "copy_", "_to_copy")
_SUMS = {"add": 1, "add_": 1, "sub": -1, "sub_": -1}


@dataclass(frozen=True, slots=True)
class _Move:
    """What follows, in memory `slow`, is given itself and a multiple of its distance to a parameter in `fast`."""

    at: int
    places: tuple[int, ...]  # of the operators that do so
    slow: int
    fast: int


def moves_away(case: Case) -> Iterator[Cause]:
    """What it flags: a copy of the weights that is to follow them, as an average or Lookahead's slow weights, and is
    moved away from them.

    Why: `slow - fast` points from the fast weights to the slow ones. To add a part of it takes the slow weights further
    off, by a factor each time; where the fast ones go on from there, the training runs backwards.

    Wrong:
        slow.add_(slow - fast, alpha=0.5)
        fast.copy_(slow)

    Right:
        slow.add_(fast - slow, alpha=0.5)
        fast.copy_(slow)

    Do instead: add a part of `fast - slow`, or use slow.lerp_(fast, 0.5).

    How it is found: memory that no optimizer holds and that began as a copy of a parameter which one steps. In several
    steps the difference of the two, itself minus the parameter, is added to it, or the opposite is subtracted, times
    factors that are written as numbers above zero.
    """
    flow, begun = dataflow(case), dict[Site, Site | None]()
    for move in _moves(case):
        site, copied = flow.operations[move.at].site, _begun(case).get((move.slow, move.fast))
        if site is not None and copied is not None and copied < move.places[0] and _is_positive(case, move):
            begun.setdefault(site, flow.operations[copied].site)
    for site, copy in begun.items():
        if times_run(case, site) >= _TIMES:
            related = (Related("made_at", copy, "began as a copy"),) if copy not in (None, site) else ()
            yield Cause("this moves a copy of the weights away from the weights that it is to follow", site, related)


def _moves(case: Case) -> Iterator[_Move]:
    """Where the program adds such a distance to what it was measured from."""
    flow = dataflow(case)
    looked = {one.tensor for look in case.optimizer_looks() for one in look.parameters}
    held = {flow.tensors[one].storage for one in looked if one in flow.tensors}
    for at, operation in enumerate(flow.operations if held else ()):
        if base_name(operation.operation.name) != "sub" or len(operation.reads) != 2 or not _is_own(operation):
            continue
        first, second = _memory(flow, operation)
        if first is not None and second is not None and (first in held) != (second in held):
            slow, fast, sign = (second, first, -1) if first in held else (first, second, 1)
            yield from (_Move(places[-1], places, slow, fast) for places in _added(flow, at, slow, sign))


def _is_own(operation: FlowOperation) -> bool:
    """Whether the program ran an operator beside its graph, and no optimizer of torch's."""
    one = operation.operation
    learns = one.grad and any(read.requires_grad for read in operation.reads)
    return operation.backward is None and not learns and not is_in_step(one.stack)


def _memory(flow: RecordedDataflow, operation: FlowOperation) -> tuple[int | None, ...]:
    known = (flow.tensors.get(one.tensor) for one in operation.reads)
    return tuple(None if one is None else one.storage for one in known)


def _added(flow: RecordedDataflow, at: int, slow: int, sign: int) -> Iterator[tuple[int, ...]]:
    """The operators from a distance, whose sign is given, on to where it takes `slow` further, in place or copied."""
    for made, places in _scaled(flow, at):
        for reader in flow.readers.get(made, ()):
            operation = flow.operations[reader]
            name, memory = base_name(operation.operation.name), _memory(flow, operation)
            if _SUMS.get(name) != sign or len(memory) != 2 or slow not in memory or not _is_own(operation):
                continue
            if name.startswith("sub") and memory[0] != slow:
                continue
            if slow in flow.written.get(reader, ()):
                yield (*places, reader)
            elif not name.endswith("_"):
                yield from ((*places, reader, copy) for copy in _copies(flow, operation, slow))


def _scaled(flow: RecordedDataflow, at: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The distance, itself or multiplied by a number, with the operators that made it so."""
    for made in flow.operations[at].makes:
        readers = flow.readers.get(made, ())
        inside = tuple(one for one in readers if made in flow.operations[one].makes)
        if all(_is_scaled(flow, one) for one in inside):
            yield made, (at, *inside)
            for reader in readers:
                if reader not in inside and _is_scaled(flow, reader):
                    yield from ((one, (at, *inside, reader)) for one in flow.operations[reader].makes)


def _is_scaled(flow: RecordedDataflow, at: int) -> bool:
    """Whether an operator multiplies by a number."""
    operation = flow.operations[at]
    return base_name(operation.operation.name) in ("mul", "mul_") and len(operation.reads) == 1


def _copies(flow: RecordedDataflow, operation: FlowOperation, slow: int) -> Iterator[int]:
    """The operators that copy what another made into this memory."""
    for made in operation.makes:
        for reader in flow.readers.get(made, ()):
            is_copy = base_name(flow.operations[reader].operation.name) == "copy_"
            if is_copy and slow in flow.written.get(reader, ()):
                yield reader


@kept
def _begun(case: Case) -> dict[tuple[int, int], int]:
    """The first operator that copied one memory into another, by both: the copy comes first."""
    flow, found = dataflow(case), dict[tuple[int, int], int]()
    for at, operation in enumerate(flow.operations):
        if base_name(operation.operation.name) in _COPIES and operation.backward is None:
            made = {flow.tensors[one].storage for one in operation.makes if one in flow.tensors}
            for fast in _memory(flow, operation):
                for slow in made if fast is not None else ():
                    found.setdefault((slow, fast or 0), at)
    return found


def _is_positive(case: Case, move: _Move) -> bool:
    """Whether the factors of a move are numbers above zero, as the program writes them."""
    flow = dataflow(case)
    operations = [flow.operations[at] for at in move.places]
    scaled = any(base_name(one.operation.name).startswith("mul") for one in operations)
    return are_positive(case, (one.site for one in operations), scaled)
