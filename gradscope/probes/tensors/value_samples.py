"""Takes down the values with which an operator gave a NaN or an Inf: numbers as text, never a tensor.

JSON has no NaN, so every value is written as Python would print it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, TypeGuard

import torch

from gradscope.torch_internals.tensors import is_wrapped

ALONG = ("dim", "softmax_dim")  # arguments that name the dimension that an operator works along
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def tensors_of(value: Any) -> tuple[torch.Tensor, ...]:
    """The plain strided tensors with values in an argument or a result, one level deep."""
    return tuple(one for one in several(value) if is_plain(one))


def several(value: Any) -> list[Any] | tuple[Any, ...]:
    """What an argument or a result holds, one level deep."""
    return value if isinstance(value, (list, tuple)) else (value,)


def is_plain(value: Any) -> TypeGuard[torch.Tensor]:
    """Whether a look at the values is possible and waits for no accelerator."""
    return type(value) in _PLAIN and value.is_cpu and has_values(value)


def has_values(value: torch.Tensor) -> bool:
    """Whether a tensor of no special class holds numbers in memory of its own, wherever that is."""
    return (
        value.layout is torch.strided and not value.is_nested and not is_wrapped(value) and value.data_ptr() != 0
    )  # not meta, fake, sparse, quantized, distributed; nor without memory: a zero tensor of jvp, a storage given back


def named(operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments of an operator's call with their names in its schema."""
    yield from zip((argument.name for argument in operator._schema.arguments), arguments, strict=False)
    yield from keywords.items()


def value_sample(
    operator: Any, result: torch.Tensor, arguments: list[tuple[str, Any]], written: set[str], index: list[int]
) -> str:
    """What the operator got, and gave at an index of its result, as JSON. `written`: arguments that are overwritten."""
    dimension = next((value for name, value in arguments if name in ALONG and type(value) is int), None)
    described = [
        described_argument(name, one, result, index, dimension if name == "self" else None)
        for name, value in arguments
        if name not in written
        for one in ((value,) if _is_scalar(value) else tensors_of(value))
    ]
    outcome = {
        "shape": list(result.shape),
        "value": _text(result, index),
        "index": index,
        "nan": int(torch.isnan(result).sum()),
        "inf": int(torch.isinf(result).sum()),
    }
    return json.dumps({"result": outcome, "arguments": described})


def described_argument(
    name: str, value: Any, result: torch.Tensor, index: list[int], dimension: int | None
) -> dict[str, Any]:
    """One argument: a number as it is; of a tensor its shape, least and greatest value, and the value at the index."""
    if not isinstance(value, torch.Tensor):
        return {"name": name, "value": repr(value)}
    found: dict[str, Any] = {"name": name, "shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}
    if value.is_complex():
        return found
    if value.numel():
        least, most = torch.aminmax(value.detach())
        found |= {"least": repr(least.item()), "most": repr(most.item())}
    if _reaches(value, result):
        found["value"] = repr(value.detach().expand(result.shape)[tuple(index)].item())
    if dimension is not None and value.shape == result.shape and value.dim():
        row = value.detach()[tuple(slice(None) if at == dimension % value.dim() else i for at, i in enumerate(index))]
        least, most = torch.aminmax(row)
        found["row"] = [repr(least.item()), repr(most.item())]
    return found


def first(mask: torch.Tensor) -> list[int]:
    """The index of the first True."""
    flat = int(mask.flatten().to(torch.uint8).argmax())
    index = []
    for size in reversed(mask.shape):
        index.append(flat % size)
        flat //= size
    return index[::-1]


def _reaches(value: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether the argument lies under the result element by element."""
    if value.dim() > result.dim() or not result.numel():
        return False
    pairs = zip(reversed(value.shape), reversed(result.shape), strict=False)
    return all(mine in (1, its) for mine, its in pairs)


def _is_scalar(value: Any) -> bool:
    return type(value) in (int, float, bool)


def _text(result: torch.Tensor, index: list[int]) -> str:
    value = result.detach()[tuple(index)].item()
    if isinstance(value, complex):  # the part that is not finite
        value = value.imag if math.isfinite(value.real) else value.real
    return repr(value)
