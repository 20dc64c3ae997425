"""The quickest way from Python to an operator: written by hand.

The surprise: an operator that is called as an object has its arguments matched to its schema by a slow, general parser.
The functions that torch generates for `torch.add` and `Tensor.view` have their own, and arrive at the same operator
with the same arguments; `tests/probes/test_operators_are_passed_on.py` asks each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_FUNCTIONS: Any = getattr(torch._C, "_VariableFunctions", None)
_METHODS: Any = torch._C.TensorBase

FUNCTIONS = """
    _log_softmax.default _log_softmax_backward_data.default _softmax_backward_data.default _safe_softmax.default
    addmm.default bmm.default clone.default div.Tensor mm.default mul.Tensor native_layer_norm.default permute.default
    relu.default select.int squeeze.dim sub.Tensor sum.dim_IntList transpose.int unsqueeze.default
"""
METHODS = """
    add.Tensor add_.Tensor addcdiv_.default addcmul_.default detach.default expand.default mul_.Tensor sqrt.default
    t.default view.default
"""


def _table() -> dict[str, Callable[..., Any]]:
    rows = [(FUNCTIONS, _FUNCTIONS), (METHODS, _METHODS)]
    names = [(name, getattr(owner, name.partition(".")[0], None)) for text, owner in rows for name in text.split()]
    return {f"aten.{name}": function for name, function in names if function is not None}


_TABLE = _table()


def runner(operator: Any) -> Callable[..., Any]:
    """What runs an operator, given what a dispatch mode was given."""
    if type(operator) is not torch._ops.OpOverload:
        return operator
    return _TABLE.get(str(operator), operator._op)  # its own without the frame of its __call__
