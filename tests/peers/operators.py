"""Runs samples of torch's own operator database, forward and backward, and prints what each computes, to the bit."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

DTYPES = (torch.float32, torch.float64)
UNFILLED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
REFUSED = 60  # letters of a refusal: others may name memory


def digest(tensors: list[Any]) -> str:
    """What tensors hold; of those that are no plain memory, what they print."""
    text = hashlib.sha256()
    for one in tensors:
        if one is None:
            continue
        plain = one.detach()
        plain = plain.to_dense() if plain.layout is not torch.strided else plain
        kind = f"{one.dtype} {tuple(one.shape)} {one.stride() if one.layout is torch.strided else one.layout}"
        text.update(kind.encode())
        flat = plain.resolve_conj().resolve_neg().contiguous()
        text.update(bytes(flat.cpu().flatten().view(torch.uint8).tolist()) if flat.numel() else b"")
    return text.hexdigest()[:12]


def nodes(tensors: list[Any]) -> list[str]:
    """The names of all nodes behind tensors, in the order in which a walk finds them."""
    left = [one.grad_fn for one in tensors if one.grad_fn is not None]
    seen, names = set(left), []
    while left:
        node = left.pop()
        names.append(node.name())
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                left.append(below)
    return names


def samples(operator: Any, device: str, dtype: torch.dtype, most: int | None) -> Iterator[Any]:
    """The first samples or all, drawn alike in each run."""
    torch.manual_seed(0)
    yield from islice(operator.sample_inputs(device, dtype, requires_grad=operator.supports_autograd), most)


def compute(operator: Any, sample: Any) -> str:
    """One sample, forward and backward."""
    torch.manual_seed(1)
    given = [one for one in tree_leaves((sample.input, sample.args, sample.kwargs)) if isinstance(one, torch.Tensor)]
    results = [
        one
        for one in tree_leaves(operator(sample.input, *sample.args, **sample.kwargs))
        if isinstance(one, torch.Tensor)
    ]
    if operator.name in UNFILLED:  # they hold what the memory held before
        results = [torch.zeros_like(one) for one in results]
    words = [digest(results), ",".join(nodes(results))]
    roots = [one for one in results if one.requires_grad]
    if roots:
        leaves = [one for one in given if one.requires_grad]
        torch.autograd.backward(roots, [torch.ones_like(one) for one in roots])
        words.append(digest([one.grad for one in leaves]))
    return " ".join(words)


def main(start: int, stop: int, most: int | None, device: str) -> None:
    """Print a line for each sample of some of the operators, or for the first ones of each operator and dtype."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for operator in op_db[start:stop]:
        name = f"{operator.name}.{operator.variant_test_name}".rstrip(".")
        for dtype in DTYPES:
            if dtype not in operator.supported_dtypes(device):
                continue
            for number, sample in enumerate(samples(operator, device, dtype, most)):
                try:
                    told = compute(operator, sample)
                except Exception as error:
                    told = f"{type(error).__name__} {str(error)[:REFUSED]!r}"
                print(f"{name} {str(dtype)[6:]} {number}: {told}")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(len(op_db))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) or None, sys.argv[4])
