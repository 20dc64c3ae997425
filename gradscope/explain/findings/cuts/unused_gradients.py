"""GS78x: gradients that the engine computed and nobody used."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import states_at
from gradscope.explain.deductions.steps.optimizer_parameters import named_in_graphs, optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizer_frames import runs_optimizer
from gradscope.explain.evidence.timeline import Moment, timelines
from gradscope.explain.evidence.words import several
from gradscope.model.flow import GradientState, LeafGradient, is_looked_at
from gradscope.model.graph import Backward, Graph
from gradscope.model.training import STEP, ZERO_GRAD
from gradscope.store.asked import kept

_WITHOUT_TENSORS = "profiler."  # the operators by which torch marks a stretch for its profiler
_EMPTY = (GradientState.NONE, GradientState.ZERO)


def thrown_away(case: Case) -> Iterator[Cause]:
    """What it flags:
        Gradients of parameters that a backward computes and that are cleared, or left, before anything reads them.
    Why:
        backward() computes the gradient of every leaf that it reaches. Where only an input's gradient is wanted, or the
        parameters belong to another optimizer, the weights' part of each layer's backward is for nothing.
    Wrong:
        loss = criterion(model(x), y)
        loss.backward()
        direction = x.grad.sign()
    Right:
        loss = criterion(model(x), y)
        (gradient,) = torch.autograd.grad(loss, x)
        direction = gradient.sign()
    Do instead:
        Ask for what is needed: torch.autograd.grad(loss, x), backward(inputs=...), or requires_grad_(False) meanwhile.
    How it is found:
        The parameter held no gradient when the next backward began, no optimizer that holds it had stepped in between,
        and no operator read a gradient of its shape. The cost is that of the products for the weights' gradients.
        Where it still holds one and no optimizer holds it, none of the whole run did, and nothing else wrote to it.
        Nothing is said where several threads call backward: what they read in between is not told apart.
    """
    if len({call.thread for call in case.backwards()}) > 1:
        return
    groups: dict[object, list[tuple[Backward, list[LeafGradient]]]] = defaultdict(list)
    recorded = {operation.backward for operation in dataflow(case).operations}
    for call in case.backwards():
        if call.number not in recorded:
            continue
        lost = [leaf for leaf in _leaves(case, call) if _is_wasted(case, call, leaf)]
        if lost:
            groups[call.site].append((call, lost))
    for calls in groups.values():
        call, lost = calls[0]
        names = [named_in_graphs(case, dataflow(case).tensors[leaf.tensor]).leaf or "a parameter" for leaf in lost]
        work = flops(case.graph(call.number), {leaf.node for leaf in lost})
        message = f"the gradients of {several(names)} are computed here and never used"
        which = "every call" if _is_always_reached(case, call, lost) else "every call that reaches them"
        message += f": about {_amount(work)} for the weights' gradients in {which}" if work else ""
        yield Cause(message, call.site, tensor=names[0], backward=call.number, weight=work)


def _is_always_reached(case: Case, call: Backward, lost: list[LeafGradient]) -> bool:
    """Whether each call of the line reached these leaves: part of a loss may begin late."""
    reached = (states_at(case).get(one.number) for one in case.backwards() if one.site == call.site)
    return all({leaf.tensor for leaf in lost} <= leaves.keys() for leaves in reached if leaves is not None)


def _leaves(case: Case, call: Backward) -> list[LeafGradient]:
    """The parameters that a call gave gradients to."""
    if call.kind != "backward" or call.exception is not None or call.nested_in is not None:
        return []
    tensors = dataflow(case).tensors
    wanted = None if call.inputs is None else {root.node for root in call.inputs}
    return [
        leaf
        for leaf in case.leaf_gradients()
        if leaf.backward == call.number
        and leaf.tensor in tensors
        and tensors[leaf.tensor].parameter
        and (wanted is None or leaf.node in wanted)
    ]


def _is_wasted(case: Case, call: Backward, leaf: LeafGradient) -> bool:
    later = [one for one in case.leaf_gradients() if one.tensor == leaf.tensor and one.backward > call.number]
    if not later:
        return False
    following, known = min(later, key=lambda one: one.backward), optimizer_parameters(case)
    if following.state not in _EMPTY and (leaf.tensor in known.held or not known.is_whole):
        return False  # one that has never stepped, where the run ended before it did, may hold it
    if following.state not in _EMPTY and _is_kept(case, call, leaf):
        return False
    if following.state is GradientState.ZERO and not _is_cleared(case, call.number, following):
        return False  # the gradient itself may be zero
    # Asked first: the next goes through all operators of the run. By an optimizer that begins late they are used then.
    if _steps_later(case, call, leaf.tensor) or _may_have_stepped(case, call, following):
        return False
    return were_followed(case, call, following.backward) and not is_read(case, call, leaf, following.backward)


def _steps_later(case: Case, call: Backward, tensor: int) -> bool:
    """Whether the optimizers that hold a parameter begin late: its line calls backward again before they step first."""
    holders = _holders(case, tensor)
    begun = [first for optimizer, first in _first_steps(case).items() if optimizer in holders]
    again = (one.number for one in case.backwards() if one.site == call.site and one.number > call.number)
    following = next(again, None)
    return bool(begun) and following is not None and all(following <= first for first in begun)


def _holders(case: Case, tensor: int) -> set[int]:
    """The optimizers that hold a parameter."""
    return {look.optimizer for look in case.optimizer_looks() if any(one.tensor == tensor for one in look.parameters)}


@kept
def _first_steps(case: Case) -> dict[int, int]:
    """By optimizer: how many backward calls came before its first step."""
    found: dict[int, int] = {}
    for timeline in timelines(case):
        at = -1
        for moment in timeline.moments:
            at = moment.backward.number if moment.backward is not None else at
            if moment.has(STEP) and moment.call is not None and moment.call.optimizer is not None:
                found.setdefault(moment.call.optimizer, at)
    return found


def _is_kept(case: Case, call: Backward, leaf: LeafGradient) -> bool:
    """Whether the program uses a gradient by hand once several backward calls have added to it."""
    name = named_in_graphs(case, dataflow(case).tensors[leaf.tensor]).leaf
    return name in _moved(case) or is_read(case, call, leaf)


@kept
def _moved(case: Case) -> frozenset[str | None]:
    """The names of the parameters that the program itself writes to behind a backward."""
    blocks = list(case.blocks())
    first = next((at for at, one in enumerate(blocks) if one.backward is not None), len(blocks))
    ran = {id(one.operations): one.operations for one in blocks[first:] if one.backward is None}
    own = (one for operations in ran.values() for one in operations if one.writes and not runs_optimizer(one))
    return frozenset(write.leaf for one in own for write in one.writes if write.leaf is not None)


def _is_cleared(case: Case, first: int, following: LeafGradient) -> bool:
    """Whether zero_grad() of a module, or of an optimizer that holds the leaf, came between two backward calls."""
    holders = _holders(case, following.tensor)
    for timeline in timelines(case):
        at = 0
        for moment in timeline.moments:
            at = moment.backward.number if moment.backward is not None else at
            if first <= at < following.backward and moment.has(ZERO_GRAD) and _is_of(moment, holders):
                return True
    return False


def _is_of(moment: Moment, optimizers: set[int]) -> bool:
    """Whether a call is a module's, or of one of these optimizers."""
    call = moment.call
    return call is not None and (call.module is not None or call.optimizer in optimizers)


def were_followed(case: Case, call: Backward, until: int) -> bool:
    """Whether the tensors of all operators between two backward calls were followed: not every step is looked at."""
    following = case.backwards_by_number()[until]
    followed = _followed(case)
    blocks = (block for block in case.blocks() if block.backward is None)
    between = [block for block in blocks if call.started < block.started < following.started]
    with_tensors = {
        block.number: sum(not operation.name.startswith(_WITHOUT_TENSORS) for operation in block.operations)
        for block in between
    }
    return all(followed[block] >= count for block, count in with_tensors.items())


@kept
def _followed(case: Case) -> Counter[int]:
    """How many operators of each stretch had their tensors followed."""
    return Counter(operation.run for operation in dataflow(case).operations)


def _may_have_stepped(case: Case, call: Backward, following: LeafGradient) -> bool:
    """Whether an optimizer that holds a leaf stepped between two backward calls, or did so unseen."""
    counts: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for look in case.optimizer_looks():
        if any(one.tensor == following.tensor for one in look.parameters):
            counts[look.optimizer].append((-1 if look.backward is None else look.backward, look.count))
    for seen in counts.values():
        before = max((count for backward, count in seen if backward < call.number), default=-1)
        after = min((count for backward, count in seen if backward >= call.number), default=None)
        if any(call.number <= backward < following.backward for backward, _ in seen):
            return True
        if after is None and not is_looked_at(before + 1):
            return True
        if after is not None and after != before + 1:
            return True
    return False


def is_read(case: Case, call: Backward, leaf: LeafGradient, until: int | None = None) -> bool:
    """Whether an operator behind a call, or between two, read what may be this gradient, or wrote to the parameter."""
    flow = dataflow(case)
    parameter = flow.tensors[leaf.tensor]
    made: set[int] = set()
    for operation in flow.operations:
        if until is not None and operation.backward == until:
            return False
        if operation.backward == call.number:
            made |= {flow.tensors[one].storage for one in operation.makes if one in flow.tensors}
        elif made and operation.backward is None:
            for read in operation.reads:
                known = flow.tensors.get(read.tensor)
                if known is None:
                    continue
                own = known.storage == parameter.storage
                if own and read.tensor in operation.makes:
                    return True
                if not own and known.storage in made and known.type.shape == parameter.type.shape:
                    return True
    return False


def flops(graph: Graph, leaves: set[int]) -> int:
    """Floating point operations for the gradients of weights: two for each element and row of a product.

    A weight's gradient is a product over all rows (and places, of a convolution) that the layer's result has.
    """
    sources: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    total = 0
    for leaf in leaves:
        given = next(iter(graph.nodes[leaf].inputs_meta), None)
        shape = () if given is None else given.shape
        if len(shape) < 2 or not shape[0]:
            continue
        for layer in _layers(graph, sources, leaf):
            meta = next((meta for meta in graph.nodes[layer].inputs_meta if meta is not None), None)
            if meta is not None:
                total += 2 * math.prod(shape) * max(math.prod(meta.shape) // shape[0], 1)
    return total


def _layers(graph: Graph, sources: dict[int, list[int]], leaf: int) -> list[int]:
    """The nodes that compute a weight's gradient: a transposition stands between."""
    found = []
    for source in sources[leaf]:
        transposed = graph.nodes[source].name in ("TBackward0", "TransposeBackward0")
        found += sources[source] if transposed else [source]
    return found


def _amount(work: int) -> str:
    """1.2 MFLOP and the like."""
    for unit in ("", "K", "M", "G"):
        if work < 1000:
            return f"{work:.3g} {unit}FLOP"
        work = work / 1000  # type: ignore[assignment]
    return f"{work:.3g} TFLOP"
