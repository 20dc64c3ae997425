"""Whether the memory of a tensor holds something else than before: a sample of it is kept as a digest.

What differs in the sample differs for sure; what is equal there may differ elsewhere, and is taken for unchanged. A
device is not asked, which would have to be waited for: what is written there is taken to change.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gradscope.probes.tensors.storages import digest
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled

_ELEMENTS = 4096  # in a sample, at least, where a tensor has so many


@dataclass(frozen=True, slots=True)
class Content:
    """Where a tensor lies in its storage, and a digest of what was there; None where that is not known."""

    dtype: torch.dtype
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    sample: str | None


def content_of(tensor: torch.Tensor) -> Content:
    """What a tensor holds now."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    return Content(tensor.dtype, int(tensor.storage_offset()), shape, strides, _sample(tensor))


def is_changed(before: Content, kept: torch.Tensor) -> bool:
    """Whether the memory that a tensor shares holds something else now, as far as that is known."""
    if before.sample is None:
        return True
    with unprofiled(), no_function(), no_dispatch(), no_autograd():
        storage = kept.untyped_storage()
        if storage.nbytes() < _end(before) * before.dtype.itemsize:
            return False  # given back since; set_() would make it longer again
        there = torch.empty(0, dtype=before.dtype).set_(storage, before.offset, before.shape, before.strides)
    return _sample(there) != before.sample


def _end(content: Content) -> int:
    """The element of its storage behind the last one."""
    steps = zip(content.shape, content.strides, strict=True)
    return content.offset + 1 + sum((size - 1) * stride for size, stride in steps)


def _sample(tensor: torch.Tensor) -> str | None:
    if tensor.device.type != "cpu":
        return None
    with unprofiled(), no_function(), no_dispatch(), no_autograd():
        step = max(1, tensor.numel() // _ELEMENTS)
        return digest(tensor.detach().reshape(-1)[::step])
