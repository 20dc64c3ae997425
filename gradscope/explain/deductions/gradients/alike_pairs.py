"""Squares of pairs, of which a loss takes nothing but a sum in which each pair counts alike.

The surprise: what is meant by pairs shows in what becomes of them: a mask, a softmax, a weight of each, a diagonal.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.explain.evidence.forms import COPIES
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import Operation, base_name

_DISTRIBUTIONS = "torch/distributions/"
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
WEIGHS = ("mul", "div")
_TERMS = ("add", "sub", "rsub", "neg", "mul", "div", *COPIES)
_POWERS = ("pow", "abs", "square", "sqrt", "log1p", "sign", *LOSSES)
_CHOICES = ("where", "maximum", "minimum", "clamp", "clamp_min", "clamp_max", "lt", "le", "gt", "ge")
_MARGINS = ("softplus", "relu", "log_sigmoid_forward")
_EVEN = ("pow", "abs", "square", "cosh", *LOSSES)  # of a difference: the same for too much as for too little
_GROWS = ("exp", "expm1", "sinh")  # of what is even they make a kernel, which is meant for pairs
_BENT = (*_MARGINS, *_GROWS, "log", "log2", "log10", "logaddexp", "sigmoid", "tanh", "atan", "asinh", "erf")
_SUMS = ("sum", "mean", "linalg_vector_norm", "norm", *LOSSES)
_AFTER = ("add", "sub", "rsub", "neg", "mul", "div", "sum", "mean")
_FAR = 64  # operators that a value may go through on its way to one number


@dataclass(frozen=True, slots=True)
class Pairs:
    """Which dimensions of a result number the samples, each of so many: the first one and that at `place`."""

    count: int
    place: int = 1

    def are_in(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this shape has a value for each pair, or several."""
        return len(shape) > self.place and shape[0] == shape[self.place] == self.count


@dataclass(slots=True)
class _Walk:
    """The tensors that were made of a square: those with a value for each pair, and sums of these."""

    pairs: Pairs
    squares: set[int]
    is_weight: bool
    sums: set[int] = field(default_factory=set)
    mixed: set[int] = field(default_factory=set)  # squares that another value of each sample has gone into
    even: set[int] = field(default_factory=set)  # squares that an even function of the pairs has gone into
    is_shared: bool = False  # whether several operators take one square, as those of a loss with several terms do
    numbers: int = 0
    joined: bool = False  # whether samples that require grad were multiplied with them


def counts_alike(flow: RecordedDataflow, operation: FlowOperation, pairs: Pairs, of_data: bool = False) -> bool:
    """Whether what an operator makes ends in one number or several, to which each pair adds what any other does.

    A product may not meet another value of each sample before something is made of it that is not linear: draws of a
    law are such products. `of_data`: it has no gradient, and must be multiplied with what has one.
    """
    if not flow.shape(operation.makes[0]):  # a loss of torch's, which adds them up by itself
        return base_name(operation.operation.name) in _SUMS and operation.operation.grad
    is_weight = base_name(operation.operation.name) in WEIGHS and not in_distributions(operation.operation)
    walk = _Walk(pairs, set(operation.makes), is_weight, is_shared=_is_shared(flow, operation.makes[0]))
    waiting = [at for made in operation.makes for at in flow.readers.get(made, ())]
    heapq.heapify(waiting)
    seen: set[int] = set()
    while waiting:
        at = heapq.heappop(waiting)
        reader = flow.operations[at]
        if at in seen or reader.backward is not None or not reader.makes:
            continue
        seen.add(at)
        if len(seen) > _FAR or not _goes_on(flow, reader, walk):
            return False
        if flow.shape(reader.makes[0]):
            for one in flow.readers.get(reader.makes[0], ()):
                heapq.heappush(waiting, one)
    return walk.numbers > 0 and (walk.joined or not of_data)


def _goes_on(flow: RecordedDataflow, reader: FlowOperation, walk: _Walk) -> bool:
    """Notes what a reader made of the pairs; False where it tells them from each other."""
    name, made = base_name(reader.operation.name), reader.makes[0]
    if made not in flow.tensors:
        return False
    beside = [one for one in reader.reads if one.tensor not in walk.squares | walk.sums]
    if any(walk.pairs.are_in(flow.shape(one.tensor)) and not _is_implied(flow, one.tensor, walk) for one in beside):
        return False
    shape = flow.shape(made)
    if not shape:
        walk.numbers += name in _SUMS and reader.operation.grad and made in flow.useful
        return True
    reads_pairs = any(one.tensor in walk.squares for one in reader.reads)
    if reads_pairs and walk.pairs.are_in(shape):
        is_of_each = _is_of_each(reader, walk)
        walk.joined = walk.joined or (name == "mul" and any(one.requires_grad for one in beside))
        walk.squares.add(made)
        walk.is_shared = walk.is_shared or _is_shared(flow, made)
        if name in _EVEN or any(one.tensor in walk.even for one in reader.reads):
            walk.even.add(made)
        if any(flow.shape(one.tensor) for one in beside) or any(one.tensor in walk.mixed for one in reader.reads):
            walk.mixed.add(made)
        return is_of_each
    walk.sums.add(made)
    return name in _AFTER


def _is_of_each(reader: FlowOperation, walk: _Walk) -> bool:
    """Whether an operator makes one value of each pair, and does not tell them from each other."""
    name = base_name(reader.operation.name)
    if in_distributions(reader.operation) or name in _TERMS:
        return True
    if walk.is_weight:
        return name in (*_CHOICES, *_MARGINS) and not walk.mixed & {one.tensor for one in reader.reads}
    if name in _BENT:  # of the plain difference one such term alone is a penalty for one side, as of a ranking
        is_even = any(one.tensor in walk.even for one in reader.reads)
        return name not in _GROWS if is_even else walk.is_shared
    return name in (*_POWERS, *_EVEN, *_CHOICES)


def _is_shared(flow: RecordedDataflow, square: int) -> bool:
    """Whether several operators with a gradient take the same pairs."""
    readers = (flow.operations[at] for at in flow.readers.get(square, ()))
    return sum(one.backward is None and one.operation.grad for one in readers) > 1


def _is_implied(flow: RecordedDataflow, tensor: int, walk: _Walk) -> bool:
    """Whether another tensor of pairs is such a product of samples, which its operator has made a square by itself."""
    makers = [flow.operations[at] for at in flow.makers.get(tensor, ())]
    reads = [flow.shape(one.tensor) for maker in makers for one in maker.reads]
    return walk.is_weight and len(reads) > 1 and not any(walk.pairs.are_in(shape) for shape in reads)


def in_distributions(operation: Operation) -> bool:
    """Whether one of torch's distributions asked for an operator."""
    return any(_DISTRIBUTIONS in site.file.replace("\\", "/") for site in operation.stack)
