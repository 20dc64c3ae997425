"""Lets torch swap the content of two tensors: it refuses those that anybody refers to weakly, as we do.

Modules do that with parameters of tensor classes, and with all where the program asks for it.
"""

from __future__ import annotations

from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import Replacement


class SwappedTensors:
    """Has those forget two tensors that know them by weak references, before they are swapped."""

    def __init__(self, context: Context) -> None:
        self._faults, self._forgotten = context.faults, context.events.tensor_forgotten
        self._forget_name = context.names.forget
        self._swap = Replacement("torch.utils.swap_tensors")

    def __enter__(self) -> SwappedTensors:
        original = self._swap.original

        def swap_tensors(*tensors: Any, **named: Any) -> Any:
            try:
                for tensor in (*tensors, *named.values()):
                    if isinstance(tensor, torch.Tensor):
                        self._forget(tensor)
            except Exception as error:
                self._faults.note("swapped tensors", error)
            return original(*tensors, **named)

        skip(swap_tensors)
        self._swap.put(swap_tensors)
        return self

    def __exit__(self, *error: object) -> None:
        self._swap.restore()

    def _forget(self, tensor: torch.Tensor) -> None:
        for forget in self._forgotten:
            forget(tensor)
        self._forget_name(tensor)  # last: the others may write it
