"""Which operators can make a NaN or an Inf out of finite numbers, and so are worth a look: written by hand.

A look costs microseconds. Operators that only move, select or add up values get one only in the first step and after
something has turned up; in a backward, only those that divide, invert or take powers do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradscope.signals import attribute

NEVER, CLOSELY, FORWARD, ALWAYS = range(4)

MOVES = """
    _to_copy alias arange bernoulli bernoulli_ cat clamp clamp_ clamp_max clamp_min clone constant_pad_nd
    contiguous copy_ detach dropout embedding eye fill fill_ flip full full_like gather index index_put
    index_put_ index_select leaky_relu lift_fresh lift_fresh_copy linspace masked_fill masked_fill_
    masked_select max maximum max_pool2d_with_indices min minimum nan_to_num nan_to_num_ native_dropout neg
    normal_ one_hot ones ones_like rand rand_like randn randn_like relu relu_ repeat roll scalar_tensor scatter
    scatter_add sigmoid slice_scatter slice_backward select_backward threshold threshold_backward sort stack
    tanh topk tril triu uniform_ where zero_ zeros zeros_like new_full new_ones new_zeros abs sgn sign round
    floor ceil sin cos _fused_dropout _unsafe_view reshape add add_ sub sub_ rsub addmm bmm mm addmv mv dot
    convolution native_layer_norm native_batch_norm _native_batch_norm_legit
    _native_batch_norm_legit_no_training gelu silu elu unfold sum cumsum is_same_size fill_diagonal_
    native_dropout_backward embedding_dense_backward set_data erf
"""
DIVIDES = """
    div div_ pow pow_ rsqrt rsqrt_ reciprocal reciprocal_ log log_ sqrt sqrt_ exp exp_ log1p expm1 digamma
    lgamma tan prod logsumexp std var linalg_solve linalg_inv_ex linalg_lu_solve linalg_solve_triangular
    logit_backward xlogy
"""
LISTS = """
    _foreach_addcdiv_ _fused_adam_ _fused_adamw_
"""  # an optimizer's division, of all parameters at once: they return nothing, what they write is their first argument
UNSET = """
    empty empty_like empty_strided new_empty new_empty_strided empty_permuted resize_ set_
"""

_MOVES, _DIVIDES, _LISTS, _UNSET = (frozenset(names.split()) for names in (MOVES, DIVIDES, LISTS, UNSET))


def look_of(operator: Any) -> int:
    """When to look at an operator's results: NEVER, CLOSELY (after something turned up), FORWARD or ALWAYS."""
    schema = attribute(operator, "_schema")
    if schema is None or attribute(operator, "is_view"):
        return NEVER
    namespace, _, name = schema.name.partition("::")
    if name in _LISTS and namespace == "aten":
        return FORWARD
    if namespace != "aten" or name in _UNSET or not schema.returns:
        return NEVER
    if name in _DIVIDES:
        return ALWAYS
    moves = name in _MOVES or name.removesuffix("_") in _MOVES  # what a GRU does to its gates is done in place
    if moves or name.startswith(("_foreach", "_fused", "_amp")) or schema.overload_name == "Scalar":
        return CLOSELY
    return FORWARD


def _by_number(arguments: tuple[Any, ...]) -> bool:
    """Divides by a number other than zero."""
    return type(arguments[1]) in (int, float) and arguments[1] != 0


def _to_whole(arguments: tuple[Any, ...]) -> bool:
    """Takes a power that every number has: 0, 1, 2 and so on."""
    return arguments[1] in (0, 1, 2) or (arguments[1] > 0 and arguments[1] == int(arguments[1]))


def _of_something(arguments: tuple[Any, ...]) -> bool:
    """Takes the mean of more than nothing."""
    return type(arguments[0]) is torch.Tensor and arguments[0].numel() > 0


def always(arguments: tuple[Any, ...]) -> bool:
    """With any arguments: without an accelerator such an operator needs no look before something has turned up."""
    return True


# Operators that can only overflow, some of them with these arguments only. The loss tells of it soon enough, where it
# can be asked at once; on an accelerator, where looks cost less than waiting, these are looked at all the same.
_HARMLESS: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    "aten.mul.Tensor": always,
    "aten.mul_.Tensor": always,
    "aten._safe_softmax.default": _of_something,
    "aten.div.Scalar": _by_number,
    "aten.div_.Scalar": _by_number,
    "aten.div.Tensor": _by_number,
    "aten.div_.Tensor": _by_number,
    "aten.pow.Tensor_Scalar": _to_whole,
    "aten.mean.default": _of_something,
    "aten.mean.dim": _of_something,
}


def harmless_of(operator: Any) -> Callable[[tuple[Any, ...]], bool] | None:
    """What tells, of an operator's arguments, that no NaN or Inf comes of finite ones but by overflow."""
    return _HARMLESS.get(str(operator))


def reads_no_values(operator: Any) -> bool:
    """Whether it only asks its arguments for their sizes, or for room."""
    name = str(operator).partition(".")[2].partition(".")[0]
    return name.startswith("new_") or name.endswith(("_like", "zero_", "fill_"))


def copies(operator: Any) -> bool:
    """Whether it may bring values from the host to a device."""
    return str(operator) in ("aten._to_copy.default", "aten.copy_.default")


def is_foreseen(operator: Any) -> bool:
    """Whether what runs after it does not depend on values: it is torch's own, and shows its caller none."""
    shown = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
    return str(operator).startswith("aten.") and shown.isdisjoint(attribute(operator, "tags", ()))
