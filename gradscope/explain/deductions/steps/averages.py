"""Parameters that the program itself gives new values at each step, of what its forwards computed, as the codebook of a
VQ-VAE that follows by a moving average. They need no gradient, even where an optimizer holds them.

Three forms: written in place, given other memory by `.data = value`, and a new nn.Parameter in the old one's place, so
that the optimizer holds one that nothing reads any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer, reads_shape_only
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Stack
from gradscope.store.asked import kept


def is_averaged(case: Case, parameter: int) -> bool:
    """Whether a parameter, or what stands in its place later, is given values at each step of what is computed from
    something trained or from a batch; and no backward reaches it."""
    places = {parameter, *_successors(case, parameter)}
    if places & _derived(case):
        return False
    storages = {storage for one in places for storage in _memory(case, one)}
    return any(_repeats(case, at) and _is_of_a_batch(case, at, storages) for at in _given(case, storages))


def is_only_set(case: Case, parameter: int, at: int) -> bool:
    """Whether an operator, beside the graph, read a parameter for new values of itself: `w.data *= 2 / w.norm()`."""
    flow = dataflow(case)
    operation = flow.operations[at].operation
    if operation.grad and base_name(operation.name) != "detach":
        return False
    own, waiting = set(_memory(case, parameter)), list(flow.operations[at].makes)
    seen = set(waiting)
    while waiting:
        case.pace()
        for reader in flow.readers.get(waiting.pop(), ()):
            each = flow.operations[reader]
            if each.backward is None and not is_optimizer(each):
                if own & flow.written.get(reader, set()):
                    return True
                new = set(each.makes) - seen
                seen |= new
                waiting += new
    return False


@kept
def _derived(case: Case) -> frozenset[int]:
    """The leaves that a backward reached."""
    return frozenset(leaf.tensor for leaf in case.leaf_gradients())


def _successors(case: Case, parameter: int) -> Iterator[int]:
    """The leaves that the operators read which read a parameter before: those of other steps, once it is read no more.

    Their names do not tell: a new parameter has none before the next look at its module.
    """
    flow = dataflow(case)
    readers = [at for at in flow.readers.get(parameter, ()) if flow.operations[at].backward is None]
    if not readers:
        return
    last, known = readers[-1], {parameter}
    for at in sorted({again for one in readers for again in _alike(case, one) if again > last}):
        operation = flow.operations[at]
        for read in operation.reads if operation.run > flow.operations[last].run else ():
            is_new = read.leaf and read.requires_grad and read.tensor not in known
            if is_new and flow.shape(read.tensor) == flow.shape(parameter):
                known.add(read.tensor)
                yield read.tensor


@kept
def _by_line(case: Case) -> dict[tuple[Stack, str], list[int]]:
    """The operators of forwards by their stack and name."""
    found: dict[tuple[Stack, str], list[int]] = defaultdict(list)
    for at, one in enumerate(dataflow(case).operations):
        if one.backward is None:
            found[one.operation.stack, one.operation.name].append(at)
    return found


def _alike(case: Case, at: int) -> list[int]:
    operation = dataflow(case).operations[at].operation
    return _by_line(case)[operation.stack, operation.name]


def _memory(case: Case, leaf: int) -> Iterator[int]:
    """The storages that a leaf has had: its own, and those of its views that were made before these."""
    flow = dataflow(case)
    if leaf in flow.tensors:
        yield flow.tensors[leaf].storage
    for at in flow.readers.get(leaf, ()):
        operation = flow.operations[at]
        others = {flow.tensors[one.tensor].storage for one in operation.reads if one.tensor in flow.tensors}
        for made in operation.makes:
            storage = flow.tensors[made].storage if made in flow.tensors else None
            if storage is not None and storage not in others and _makers(case)[storage][0] < at:
                yield storage


@kept
def _makers(case: Case) -> dict[int, list[int]]:
    """The operators that made each memory, or wrote into it."""
    flow, found = dataflow(case), defaultdict[int, list[int]](list)
    for at, operation in enumerate(flow.operations):
        for made in operation.makes:
            if made in flow.tensors:
                found[flow.tensors[made].storage].append(at)
    return found


def _given(case: Case, storages: set[int]) -> Iterator[int]:
    """The operators of forwards, an optimizer's left out, that put values into some memory: a view does not."""
    flow = dataflow(case)
    makers = {one: _makers(case).get(one, []) for one in storages}
    first = {at for some in makers.values() for at in some[:1]}
    written = {at for one, some in makers.items() for at in some if one in flow.written.get(at, ())}
    for at in sorted(first | written):
        if flow.operations[at].backward is None and not is_optimizer(flow.operations[at]):
            yield at


def _repeats(case: Case, at: int) -> bool:
    """Whether an operator runs at several steps: an initialisation does not."""
    flow = dataflow(case)
    return len({flow.operations[one].run for one in _alike(case, at)}) > 1


def _is_of_a_batch(case: Case, at: int, own: set[int]) -> bool:
    """Whether a value comes of something trained, or of what came in at that step, and not of a backward; what lay in
    its `own` memory before counts for nothing."""
    flow, found = dataflow(case), False
    waiting, seen = [at], {at}
    while waiting:
        case.pace()
        one = waiting.pop()
        operation = flow.operations[one]
        if operation.backward is not None:
            return False
        if reads_shape_only(operation):
            continue
        for read in operation.reads:
            if read.tensor not in flow.tensors or flow.tensors[read.tensor].storage in own:
                continue
            found = found or read.tensor in _derived(case) or _came_in(flow, operation, read.tensor)
            if not read.leaf:
                sources = set(flow.sources(read.tensor, one)) - seen
                seen |= sources
                waiting += sources
    return found


def _came_in(flow: RecordedDataflow, operation: FlowOperation, tensor: int) -> bool:
    """Whether a tensor that no operator made of others was read first at that step, and not at the first one."""
    if any(flow.operations[at].reads for at in flow.makers.get(tensor, ())):
        return False
    first = min((at for at, _ in flow.met(tensor)), default=None)
    return first is not None and 0 < flow.operations[first].run == operation.run
