"""Finds gradients whose first dimension a program takes for that of the samples, which torch has summed before."""

from __future__ import annotations

from gradscope.explain.evidence.dataflow import RecordedDataflow, is_optimizer
from gradscope.model.flow import FlowOperation

_MATRIX = 2  # dimensions: of a vector's gradient all is reduced in any case, as for its norm


def taken_as_samples(flow: RecordedDataflow, at: int) -> FlowOperation | None:
    """The operator after a backward that reduces a gradient over its first dimension, or takes one place of it.

    `at` is the sum with which torch took away the dimension before that one, of a gradient that a custom Function gave.
    """
    summed = flow.operations[at]
    made, shape = summed.makes[0], flow.shape(summed.reads[0].tensor)[1:]
    if len(shape) < _MATRIX or not _is_contracted(flow, at, shape):
        return None
    storage = flow.tensors[made].storage
    for operation in flow.operations[at + 1 :]:
        if operation.backward not in (None, summed.backward):
            return None
        if operation.backward is None and not is_optimizer(operation) and operation.site is not None:
            reads = [flow.tensors[one.tensor] for one in operation.reads if one.tensor in flow.tensors]
            whole = any(one.storage == storage and one.type.shape == shape for one in reads)
            if whole and operation.makes and flow.shape(operation.makes[0]) == shape[1:]:
                return operation
    return None


def _is_contracted(flow: RecordedDataflow, at: int, shape: tuple[int, ...]) -> bool:
    """Whether the forward of a Function takes a parameter of this shape and spreads none of them over other dimensions:
    where it does, the gradient of what is spread is summed by torch as it should be.
    """
    found = False
    for before in flow.inside_functions:
        for read in flow.operations[before].reads if before < at else ():
            tensor = flow.tensors.get(read.tensor)
            if tensor is not None and tensor.leaf is not None and tensor.type.shape == shape:
                makes = [flow.shape(one) for one in flow.operations[before].makes]
                if any(len(one) > len(shape) and one[-len(shape) :] == shape for one in makes):
                    return False
                found = True
    return found
