"""How much work the gradients of a node are, in floating-point operations: an estimate from shapes alone.

Matrix products and convolutions are counted; of all other nodes, one operation for each element that comes in.
"""

from __future__ import annotations

from math import prod

from gradscope.model.graph import Node

_PRODUCTS = {
    "Mm": 0,
    "Addmm": 1,
    "Bmm": 0,
    "Baddbmm": 1,
    "Mv": 0,
    "Addmv": 1,
    "Linear": 0,
}  # first output of the product
_CONVOLUTION = "Convolution"


def flops(node: Node, output: int) -> int:
    """Operations for the gradient at one output of a node."""
    elements = _elements_in(node)
    kind = node.name.rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")
    if kind in _PRODUCTS and _PRODUCTS[kind] <= output < _PRODUCTS[kind] + 2:
        return 2 * elements * _inner(node)
    if kind == _CONVOLUTION and output < 2:
        return 2 * elements * _weights_per_result(node)
    return elements


def _elements_in(node: Node) -> int:
    return sum(prod(meta.shape) for meta in node.inputs_meta if meta is not None and min(meta.shape, default=0) >= 0)


def _inner(node: Node) -> int:
    """The length that a matrix product sums over: the side of a saved operand that the result does not have."""
    meta = next((meta for meta in node.inputs_meta if meta is not None), None)
    result = meta.shape if meta is not None else ()
    for tensor in node.saved:
        shape = tensor.type.shape
        name = tensor.name.partition("[")[0]
        if len(shape) >= 2 and len(result) >= 1:
            return shape[-2] if name in ("mat2", "batch2", "weight", "vec") else shape[-1]
    return 1


def _weights_per_result(node: Node) -> int:
    """Multiplications for one element of a convolution's result: channels of a group times the kernel's size."""
    shape = next((tensor.type.shape for tensor in node.saved if tensor.name == "weight"), None)
    return prod(shape[1:]) if shape is not None else 1
