"""Keeps the versions of what foreach operators write.

The surprise: on the CPU a foreach operator runs one operator a tensor, and these raise the versions. Below a dispatch
mode they do not, so that a backward would go on with a weight that was edited in between, to silently wrong gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradscope.torch_internals.dynamo import skip


def counting_versions(run: Callable[..., Any], writes: Sequence[tuple[int, int, str]]) -> Callable[..., Any]:
    """An operator that raises the version of all that it writes; `writes`: position, id and name of its lists."""

    def run_and_count(*arguments: Any, **keywords: Any) -> Any:
        written = [
            tensor
            for position, _, name in writes
            for tensor in (arguments[position] if position < len(arguments) else keywords.get(name) or ())
            if isinstance(tensor, torch.Tensor) and not tensor.is_inference()
        ]
        before = [tensor._version for tensor in written]
        result = run(*arguments, **keywords)
        forgotten = [tensor for tensor, version in zip(written, before, strict=True) if tensor._version == version]
        if forgotten:
            torch.autograd.graph.increment_version(forgotten)
        return result

    skip(run_and_count)
    return run_and_count
