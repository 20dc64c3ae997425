"""Reads what is recorded of tensors: types and storages, never data. Every read must work on any kind of tensor."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.probes.sink import Sink


class TensorTypes:
    """Interns shape, dtype and device."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._known: dict[Any, int] = {}

    def take(self, tensor: Any) -> int:
        """The id for a tensor, or for a node's input metadata."""
        key = (tensor.shape, tensor.dtype, tensor.device)
        try:
            known = self._known.get(key)
        except TypeError:  # symbolic sizes have no hash
            return self._intern(key)
        if known is None:
            known = self._known[key] = self._intern(key)
        return known

    def _intern(self, key: tuple[Any, torch.dtype, torch.device]) -> int:
        shape, dtype, device = key
        sizes = [size if type(size) is int else -1 for size in shape]
        return self._sink.tensor_type(sizes, str(dtype).removeprefix("torch."), str(device))


def storage_of(tensor: torch.Tensor) -> tuple[int, int]:
    """The tensor's storage as (identity while it lives, bytes); (0, 0) where it has none to share."""
    try:
        storage = tensor.untyped_storage()
        return storage._cdata, storage.nbytes()
    except (RuntimeError, NotImplementedError):  # sparse, nested, functorch wrappers
        return 0, 0
