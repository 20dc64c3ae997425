"""Tells results of an operator from its arguments among what its node saved, by the operator's schema.

The surprise: torch says of a saved tensor neither, but it names it as the argument is named.
"""

from __future__ import annotations

import re
from typing import Any

from gradscope.torch_internals.find import bound

_schemas_of: Any = bound(
    "torch._C._jit_get_schemas_for_operator", lambda name: ()
)  # torch.ops is Python, and hides what a signal handler raises
_NUMBERED = re.compile(r"Backward\d*$")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DIMENSIONS = re.compile(r"(\d)_d(?=_|$)")  # conv2d and upsample_nearest2d, whose nodes write 2D


def arguments_of(kind: type) -> frozenset[str] | None:
    """The names of all arguments of the operator that makes nodes of a type; None when no operator has its name."""
    name = _DIMENSIONS.sub(r"\1d", _WORDS.sub("_", _NUMBERED.sub("", kind.__name__)).lower())
    schemas = [schema for one in (name, f"_{name}", f"{name}_") for schema in _schemas_of(f"aten::{one}")]
    if hasattr(kind, "_forward_cls") or not schemas:
        return None
    return frozenset(argument.name for schema in schemas for argument in schema.arguments if not argument.is_out)


def is_result(arguments: frozenset[str] | None, name: str) -> bool:
    """Whether a node saved under this name what its own operator made; where nothing tells, it did."""
    return arguments is None or name.partition("[")[0] not in arguments
