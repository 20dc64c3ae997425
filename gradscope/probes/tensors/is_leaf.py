"""Whether a tensor is a leaf, asked inside of an operator.

The surprise: torch's own `is_leaf` makes the node of a view anew that was edited since, and takes the tensor's lock to
do so. An operator may run under that lock: a nested tensor is asked for its sizes while its AccumulateGrad is made.
"""

from __future__ import annotations

import torch

from gradscope.torch_internals.tensors import creation_of

_PLAIN = (torch.Tensor, torch.nn.Parameter)  # no operator runs under the lock of these


def is_leaf(tensor: torch.Tensor) -> bool:
    """As `tensor.is_leaf`, without a change to the graph and without a lock (`VariableHooks::grad_fn` in torch 2.13).

    A view that was taken under `no_grad` counts as one, as it does with torch until the base is edited. Where the base
    requires no grad, a view either was made a leaf or was taken of such a one, which only torch can tell apart.
    """
    base = tensor._base
    if base is None:
        return tensor.is_leaf
    if tensor.requires_grad and not base.requires_grad and type(tensor) in _PLAIN:
        return tensor.is_leaf
    return not (tensor.requires_grad and base.requires_grad) or creation_of(tensor).name == "NO_GRAD_MODE"
