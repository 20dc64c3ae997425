"""Finds parts of a loss that reach parameters through round, sign or floor alone, while other parts train them.

The derivative of these is zero everywhere: no parameter is without a gradient, and yet what the part measures moves
none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.silent_parameters import silent_tensors
from gradscope.explain.deductions.lines.graph_cuts import DERIVATIVE, MissingGradient, Reason, module_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import draws
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Severity
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import base_name
from gradscope.store.asked import kept

_FLAT = ("round", "sign", "sgn", "floor", "ceil", "trunc", "fix")
_ADDS = ("add", "add_", "sub", "rsub")
_KEEPS = ("mul", "mul_", "div", "div_", "neg", "sum", "mean", "squeeze", "view")
_WEIGHS = ("mul", "mul_", "div", "where", "masked_fill")
_LAYERS = ("addmm", "mm", "bmm", "convolution", "embedding", "native_layer_norm", "native_batch_norm")
_TIMES = 2


@dataclass(frozen=True, slots=True)
class _Flat:
    """The operators without a useful derivative, by place, of the recorded flow."""

    flow: RecordedDataflow
    places: frozenset[int]

    def made(self, tensor: int, before: int, walked: dict[int, int]) -> list[int]:
        """What made a tensor; where one of these did so in place, nothing before it counts."""
        found = list(self.flow.sources(tensor, before, walked))
        last = max((at for at in found if at in self.places), default=-1)
        return [at for at in found if at >= last]


@kept
def flat_parts(case: Case) -> tuple[MissingGradient, ...]:
    """The lines that round what a part of the loss should have trained, each once. A hint: a hard decision that is
    trained by labels of its own may be given on like that."""
    flow = dataflow(case)
    flat = _Flat(flow, frozenset(at for at, one in enumerate(flow.operations) if _is_flat(flow, one)))
    if not flat.places:
        return ()
    times: Counter[object] = Counter()
    found: dict[object, MissingGradient] = {}
    trained = _trained(flat)
    for backward, looked in _held(case).items():
        held = looked & trained
        roots = [root.tensor for root in flow.roots if root.backward == backward and root.requires_grad]
        lost = {at for root in roots for at in _lost(flat, root, held)}
        places = {flow.operations[at].site: at for at in sorted(lost, reverse=True)}
        times.update(list(places))
        for site, at in places.items():
            found.setdefault(site, _missing(case, at, backward))
    return tuple(one for site, one in found.items() if site is not None and times[site] >= _TIMES)


def _is_flat(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    is_flat = base_name(operation.operation.name).rstrip("_") in _FLAT
    if not is_flat or operation.backward is not None or not operation.operation.grad:
        return False
    return any(one.requires_grad for one in operation.reads) and bool(operation.makes)


def _missing(case: Case, at: int, backward: int) -> MissingGradient:
    operation = dataflow(case).operations[at]
    name = operation.operation.name
    cause = Cause("", operation.site, certain=False, severity=Severity.INFO, op=name, module=module_of(case, at))
    return MissingGradient(DERIVATIVE, Reason.FLAT_PART, cause, operator=base_name(name))


def _held(case: Case) -> dict[int, frozenset[int]]:
    """By backward call, what the optimizers hold that step right after it, but for what nothing trains at all: a critic
    that is trained on what another model gives shall not train that."""
    found: dict[int, frozenset[int]] = {}
    for look in case.optimizer_looks():
        if look.backward is not None:
            held = frozenset(one.tensor for one in look.parameters) - silent_tensors(case)
            found[look.backward] = found.get(look.backward, frozenset()) | held
    return found


def _trained(flat: _Flat) -> frozenset[int]:
    """What any loss reaches without the flat operators."""
    roots = [root.tensor for root in flat.flow.roots if root.requires_grad]
    return frozenset(one for root in roots for one in _reached(flat, root, len(flat.flow.operations))[0])


def _lost(flat: _Flat, root: int, held: frozenset[int]) -> Iterator[int]:
    """The flat operators through which alone a term of a loss reaches what is held."""
    for term, before in _terms(flat.flow, root):
        direct, met = _reached(flat, term, before)
        far = prod(flat.flow.shape(term))
        for at in met:
            size = prod(flat.flow.shape(flat.flow.operations[at].makes[0]))
            behind = _behind(flat, at) & held
            is_lost = size > far and behind and behind.isdisjoint(direct)
            if (
                is_lost
                and not _is_sum(flat.flow, term, before, at)
                and not _weighs(flat.flow, at)
                and not _is_supervised(flat, at)
            ):
                yield at


def _terms(flow: RecordedDataflow, root: int) -> Iterator[tuple[int, int]]:
    """The numbers, or those for each sample, that a loss is the sum of, each with a place before which it was made."""
    waiting, seen = [(root, len(flow.operations))], {root}
    while waiting:
        whole, before = waiting.pop()
        at = flow.maker(whole, before)
        if at is None:
            continue
        operation = flow.operations[at]
        name, live = base_name(operation.operation.name), [one for one in operation.reads if one.requires_grad]
        adds, keeps = name in _ADDS, name in _KEEPS and len(operation.reads) == 1
        parts = [one.tensor for one in live if len(flow.shape(one.tensor)) <= 1]
        if not (adds or keeps) or not live or len(parts) < len(live):
            yield whole, before
            continue
        waiting += [(one, at) for one in parts if one not in seen]
        seen.update(parts)


def _is_sum(flow: RecordedDataflow, term: int, before: int, flat: int) -> bool:
    """Whether a term is a sum of what a flat operator made: what it is taken from may be another term."""
    at = flow.maker(term, before)
    while at is not None and at != flat:
        operation = flow.operations[at]
        live = [one for one in operation.reads if one.requires_grad]
        if base_name(operation.operation.name) not in _KEEPS or len(live) != 1:
            return False
        at = flow.maker(live[0].tensor, at)
    return at == flat


def _reached(flat: _Flat, tensor: int, before: int) -> tuple[set[int], set[int]]:
    """What a tensor was computed from without the flat operators, and those at which that ends."""
    seen, met = {tensor}, set[int]()
    walked: dict[int, int] = {}
    waiting = [(tensor, before)]
    while waiting:
        one, until = waiting.pop()
        for at in flat.made(one, until, walked):
            operation = flat.flow.operations[at]
            if at in flat.places:
                met.add(at)
            elif operation.operation.grad:
                live = [read.tensor for read in operation.reads if read.requires_grad and read.tensor not in seen]
                seen.update(live)
                waiting += [(read, at) for read in live]
    return seen, met


def _behind(flat: _Flat, at: int) -> set[int]:
    """What a flat operator's own operand was computed from."""
    read = _rounded(flat.flow.operations[at])
    return _reached(flat, read.tensor, at)[0]


def _rounded(operation: FlowOperation) -> Read:
    return next(one for one in operation.reads if one.requires_grad)


def _weighs(flow: RecordedDataflow, at: int) -> bool:
    """Whether what is rounded weighs, or chooses from, something that was computed and has a derivative itself."""
    waiting = list(flow.operations[at].makes)
    seen = set(waiting)
    while waiting:
        one = waiting.pop()
        for reader in flow.readers.get(one, ()):
            operation = flow.operations[reader]
            if reader <= at or operation.backward is not None or base_name(operation.operation.name) in _LAYERS:
                continue
            others = [read for read in operation.reads if read.tensor not in seen and read.requires_grad]
            if base_name(operation.operation.name) in _WEIGHS and any(not read.leaf for read in others):
                return True
            if not others:
                waiting += [made for made in operation.makes if made not in seen]
                seen.update(operation.makes)
    return False


def _is_supervised(flat: _Flat, at: int) -> bool:
    """Whether what is rounded is compared with data on another way: a decision with labels of its own."""
    waiting = list(_unrounded(flat, at))
    seen = set(waiting)
    while waiting:
        one = waiting.pop()
        for reader in flat.flow.readers.get(one, ()):
            operation = flat.flow.operations[reader]
            if reader in flat.places or operation.backward is not None or not operation.operation.grad:
                continue
            if any(_is_data(flat.flow, read, one, reader) for read in operation.reads):
                return True
            new = [made for made in operation.makes if made not in seen]
            seen.update(new)
            waiting += new
    return False


def _unrounded(flat: _Flat, at: int) -> Iterator[int]:
    """The results that are rounded: the last layer's, and what was made of it number by number."""
    flow, read = flat.flow, _rounded(flat.flow.operations[at])
    while not read.leaf:
        yield read.tensor
        maker = flow.maker(read.tensor, at)
        live = [] if maker is None else [one for one in flow.operations[maker].reads if one.requires_grad]
        if maker is None or len(live) != 1 or base_name(flow.operations[maker].operation.name) in _LAYERS:
            return
        read, at = live[0], maker


def _is_data(flow: RecordedDataflow, read: Read, beside: int, at: int) -> bool:
    """Whether an operand is as large as the one beside it, and neither learned nor noise that is drawn for it."""
    shape = flow.shape(read.tensor)
    if read.requires_grad or prod(shape) < 2 or prod(shape) != prod(flow.shape(beside)):
        return False
    maker = flow.maker(read.tensor, at)
    made = None if maker is None else flow.operations[maker]
    is_noise = made is not None and draws(made.operation) and made.run == flow.operations[at].run
    return not is_noise and not flow.behind(read.tensor, at)
