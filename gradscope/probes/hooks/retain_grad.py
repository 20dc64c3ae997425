"""Sees retain_grad being asked for: torch keeps it on the node, out of Python's sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradscope.probes.core.node_token import token_of
from gradscope.torch_internals.find import bound
from gradscope.torch_internals.guards import no_function


class RetainGrad:
    """Stands for Tensor.retain_grad and answers with torch's own method, so that its errors show no frame of ours."""

    def __init__(self, asked: Callable[[Any], None]) -> None:
        self._asked = asked
        self._original: Any = bound("torch._C.TensorBase.retain_grad")

    def __get__(self, tensor: Any, owner: Any) -> Any:
        if tensor is None:
            return self._original
        self._asked(tensor)
        return self._original.__get__(tensor, owner)


def holder_of(tensor: torch.Tensor | None) -> int:
    """The token's uid of the node that keeps a tensor's gradient, 0 when it is not known or the tensor is gone."""
    if tensor is None:
        return 0
    with no_function():
        node = tensor.grad_fn
    token = None if node is None else token_of(node)
    return 0 if token is None else token.uid
