"""The lines of a program that set whole gradients to zero: in a hook, or between a backward and the step behind it.

The surprise: a step does not leave out what has a gradient of zeros. It goes on by what it remembers.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, takewhile

from gradscope.explain.deductions.steps.optimizer_parameters import is_updated_by_hand
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.optimizer_frames import runs_optimizer
from gradscope.explain.evidence.optimizers import is_clipping
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation, FlowTensor, GradientState, OptimizerLook
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_TIMES = 3  # steps, up to the last one
_ZEROS, _PRODUCTS, _NEW = ("zero_", "fill_", "_foreach_zero_"), ("mul_", "_foreach_mul_", "mul"), ("zeros_like", "mul")
_VALUES = GradientState.VALUES
_OF_LEAVES = ("tensor", "post_accumulate")  # kinds of hooks
Shape = tuple[int, ...]
Lines = dict[Site, Counter[Shape]]


@dataclass(frozen=True, slots=True)
class ZeroedByHand:
    """Parameters that a step moves along gradients of zeros, and the line that sets these to zero before each step."""

    look: OptimizerLook
    site: Site
    names: tuple[str, ...]


def zeroed_by_hand(case: Case) -> Iterator[ZeroedByHand]:
    """For each optimizer and line, the first step seen to move parameters whose gradients the line sets to zero from
    some step on until the end of the run."""
    changed = {(one.optimizer, one.count, one.parameter) for one in case.updates() if one.changed}
    said: set[tuple[int, Site]] = set()
    for look in case.optimizer_looks() if _behind_backwards(case) or _in_hooks(case) else ():
        if all(one.state is not _VALUES for one in look.parameters):
            continue  # nothing learns: that is no part which is held still
        times, zero = Counter(one.name for one in look.parameters), _since(case, look)
        moved = [one for one in zero if times[one] == 1 and (look.optimizer, look.count, one) in changed]
        for site, names in _lines(case, look, moved, zero).items():
            if (look.optimizer, site) not in said:
                said.add((look.optimizer, site))
                yield ZeroedByHand(look, site, tuple(names))


def _since(case: Case, look: OptimizerLook) -> dict[str, int]:
    """The parameters whose gradients are zeros in this look and in all later ones, and the last backward before the
    first look at which they were so."""
    first: dict[str, int] = {}
    for one in case.optimizer_looks():
        if one.optimizer == look.optimizer and one.backward is not None:
            states = {each.name: each.state for each in one.parameters}
            first = {name: at for name, at in first.items() if states.get(name) is GradientState.ZERO}
            if one.count <= look.count:
                zero = [name for name, state in states.items() if state is GradientState.ZERO]
                first = {name: first.get(name, one.backward) for name in zero}
    return first


def _lines(case: Case, look: OptimizerLook, moved: list[str], zero: dict[str, int]) -> dict[Site, list[str]]:
    """The parameters that were moved, by the line that zeroes as many gradients of their shape as are zeros."""
    tensors, found = dataflow(case).tensors, defaultdict[Site, list[str]](list)
    known = {one.name: tensors[one.tensor] for one in look.parameters if one.tensor in tensors}
    shapes = Counter(known[name].type.shape for name in zero if name in known)
    for name in moved:
        tensor = known.get(name)
        if tensor is None or is_updated_by_hand(case, tensor):
            continue
        shape = tensor.type.shape
        in_hooks = _in_hooks(case).items() if _is_hooked(case, look, name, zero[name]) else ()
        lines = (*_behind_backwards(case).items(), *in_hooks)
        enough = (site for site, counts in lines if counts[shape] >= shapes[shape])
        line = next((one for one in enough if _holds(case, look.optimizer, one, name, zero[name])), None)
        if line is not None:
            found[line].append(name)
    return found


def _is_hooked(case: Case, look: OptimizerLook, name: str, backward: int) -> bool:
    """Whether a parameter has a hook in a backward whose line gives none to parameters that learn: what every gradient
    goes through, as to take infinities out, holds nothing still."""
    learn = {one.name for one in look.parameters if one.state is _VALUES}
    hooks = [one for one in case.hooks_at(backward) if one.kind in _OF_LEAVES]
    others = {one.site for one in hooks if one.on in learn}
    return any(one.on == name and one.site not in others for one in hooks)


def _holds(case: Case, optimizer: int, site: Site, name: str, first: int) -> bool:
    """Whether a line runs before each of several steps of an optimizer from a backward on, and ran before none that had
    a gradient of a parameter."""
    before = (look for look in case.optimizer_looks() if look.optimizer == optimizer and look.backward is not None)
    learned = [
        look.backward for look in before if any((one.name, one.state) == (name, _VALUES) for one in look.parameters)
    ]
    calls = [
        next((one.backward.number for one in reversed(window) if one.backward is not None), None)
        for timeline in timelines(case)
        for window in timeline.windows(optimizer, first=True)
    ]
    late = [one for one in calls if one is not None and one >= first]
    if None in calls or len(late) < _TIMES or any(site in _lines_at(case, one) for one in learned if one is not None):
        return False
    return all(site in _lines_at(case, one) for one in late)


def _lines_at(case: Case, backward: int) -> set[Site]:
    """The lines that zero something in a backward, or between it and the step or backward that comes next."""
    starts = _starts(case)
    at = bisect_right(starts, case.backwards_by_number()[backward].started)
    behind = takewhile(lambda one: not runs_optimizer(one), _outside(case)[at] if at < len(starts) else ())
    ran = chain(_inside(case).get(backward, ()), behind)
    return {one.site for one in ran if one.site is not None and _is_zeroing(one)}


@kept
def _inside(case: Case) -> dict[int, tuple[Operation, ...]]:
    """The operators of backward calls, by number."""
    return {block.backward: block.operations for block in case.blocks() if block.backward is not None}


@kept
def _outside(case: Case) -> tuple[tuple[Operation, ...], ...]:
    """The operators of the stretches outside of backward calls."""
    return tuple(block.operations for block in case.blocks() if block.backward is None)


@kept
def _starts(case: Case) -> tuple[float, ...]:
    return tuple(block.started for block in case.blocks() if block.backward is None)


@kept
def _behind_backwards(case: Case) -> Lines:
    """The lines that set gradients to zero behind a backward and before a step: how many of a shape, at most."""
    flow, gradients, places = dataflow(case), set[int](), Lines()
    now: dict[Site, Counter[Shape]] = defaultdict(Counter)
    is_open = False  # behind a backward, and before a step
    for operation in flow.operations:
        if operation.backward is not None:
            gradients |= {tensor.storage for tensor in _made(flow, operation) if not tensor.parameter}
            is_open, now = True, defaultdict(Counter)
        elif is_optimizer(operation):
            is_open = False
        elif is_open and operation.site is not None and _is_zeroing(operation.operation):
            for tensor in _given(case, flow, operation, operation.site, gradients):
                now[operation.site][tensor.type.shape] += 1
            if now[operation.site]:
                places[operation.site] = places.get(operation.site, Counter()) | now[operation.site]
    return places


def _given(
    case: Case, flow: RecordedDataflow, operation: FlowOperation, site: Site, gradients: set[int]
) -> list[FlowTensor]:
    """The gradients that an operator sets to zero: it writes them, or makes what its line gives to a .grad."""
    statement = syntax(case).statement(site)
    if base_name(operation.operation.name) in _NEW and not _is_given(statement):
        return []
    zeroed = _zeroed(flow, operation, statement)
    return zeroed if _is_given(statement) else [one for one in zeroed if one.storage in gradients]


@kept
def _in_hooks(case: Case) -> Lines:
    """The lines of hooks that make zeros: how many of a shape, in a backward, at most."""
    flow, calls, places = dataflow(case), {call.site for call in case.backwards()}, Lines()
    now: dict[tuple[int, Site], Counter[Shape]] = defaultdict(Counter)
    for operation in flow.operations:
        backward, site = operation.backward, operation.site
        if backward is not None and site is not None and site not in calls and _is_zeroing(operation.operation):
            shapes = [tensor.type.shape for tensor in _zeroed(flow, operation, syntax(case).statement(site))]
            now[backward, site].update(shapes)
            places[site] = places.get(site, Counter()) | now[backward, site]
    return places


def _is_zeroing(operation: Operation) -> bool:
    base = base_name(operation.name)
    return base in (*_ZEROS, *_PRODUCTS, *_NEW) and not is_clipping(operation.stack)


def _zeroed(flow: RecordedDataflow, operation: FlowOperation, statement: ast.stmt | None) -> list[FlowTensor]:
    """What is zeros behind an operator: what it makes, or writes, if it is no product with another factor."""
    base = base_name(operation.operation.name)
    if base in _PRODUCTS and not _names_zero(statement):
        return []
    if base in _NEW:
        return _made(flow, operation)
    # operators on lists write what they read, and do not make it
    return [flow.tensors[one.tensor] for one in operation.reads if one.tensor in flow.tensors]


def _made(flow: RecordedDataflow, operation: FlowOperation) -> list[FlowTensor]:
    return [flow.tensors[one] for one in operation.makes if one in flow.tensors]


def _is_given(statement: ast.stmt | None) -> bool:
    """`weight.grad = torch.zeros_like(weight)`, `weight.grad = 0 * weight.grad`: that alone."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    value = statement.value if isinstance(statement, ast.Assign) else None
    alone = isinstance(value, ast.BinOp) or (isinstance(value, ast.Call) and called_name(value) in (*_NEW, *_PRODUCTS))
    return alone and any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in targets)


def _names_zero(statement: ast.stmt | None) -> bool:
    """`weight.grad *= 0.0`, `weight.grad.mul_(0)`: of another factor it is not known whether it is zero."""
    nodes = ast.walk(statement) if statement is not None else ()
    return any(isinstance(one, ast.Constant) and one.value == 0 and not isinstance(one.value, bool) for one in nodes)
