"""Whether a tensor is a leaf, asked inside of an operator.

The surprise: torch's own `is_leaf` makes the node of a view anew that was edited since, and takes the tensor's lock to
do so. An operator may run under that lock: a nested tensor is asked for its sizes while its AccumulateGrad is made.
"""

from __future__ import annotations

import torch

from gradscope.torch_internals.tensors import creation_of


def is_leaf(tensor: torch.Tensor) -> bool:
    """As `tensor.is_leaf`, without a change to the graph and without a lock (`VariableHooks::grad_fn` in torch 2.13).

    A view that was taken under `no_grad` counts as one, as it does with torch until the base is edited.
    """
    base = tensor._base
    if base is None:
        return tensor.is_leaf
    return not (tensor.requires_grad and base.requires_grad) or creation_of(tensor).name == "NO_GRAD_MODE"
