"""The quick way to an operator arrives at the same operator, with the same arguments, as the operator's own call."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gradscope.probes import direct

FLAT, SQUARE, BATCH = torch.arange(4.0), torch.arange(16.0).view(4, 4), torch.ones(2, 4, 4)
WHOLE, COMPLEX, SCALAR = torch.arange(4), torch.ones(4, dtype=torch.complex64), torch.tensor(2.0)

CALLS = {
    "_log_softmax.default": [((SQUARE, 1, False), {})],
    "_log_softmax_backward_data.default": [((SQUARE, SQUARE, 1, torch.float32), {})],
    "_softmax_backward_data.default": [((SQUARE, SQUARE, -1, torch.float32), {})],
    "_safe_softmax.default": [((SQUARE, -1), {}), ((SQUARE, -1, torch.float64), {})],
    "add.Tensor": [((FLAT, SQUARE), {}), ((WHOLE, 2), {}), ((FLAT, 1.5), {"alpha": 3}), ((WHOLE, SCALAR), {})],
    "add_.Tensor": [((FLAT, FLAT), {"alpha": -0.01}), ((WHOLE, 1), {}), ((FLAT, SCALAR), {})],
    "addcdiv_.default": [((FLAT, FLAT, FLAT + 1), {"value": -0.5}), ((FLAT, FLAT, FLAT + 1), {})],
    "addcmul_.default": [((FLAT, FLAT, FLAT), {"value": 0.5}), ((FLAT, SCALAR, FLAT), {})],
    "addmm.default": [((FLAT, SQUARE, SQUARE), {}), ((FLAT, SQUARE, SQUARE), {"beta": 2, "alpha": 0.5})],
    "bmm.default": [((BATCH, BATCH), {})],
    "clone.default": [((SQUARE,), {}), ((SQUARE.t(),), {"memory_format": torch.contiguous_format})],
    "detach.default": [((FLAT,), {}), ((SQUARE.t(),), {})],
    "div.Tensor": [((FLAT, 2), {}), ((WHOLE, WHOLE + 1), {}), ((COMPLEX, 1j), {}), ((FLAT, SCALAR), {})],
    "expand.default": [((FLAT, [2, 4]), {}), ((FLAT, [2, -1]), {}), ((FLAT, [4]), {"implicit": True})],
    "mm.default": [((SQUARE, SQUARE), {})],
    "mul.Tensor": [((FLAT, True), {}), ((WHOLE, 2.5), {}), ((COMPLEX, 1j), {}), ((SCALAR, SQUARE), {})],
    "mul_.Tensor": [((FLAT, 0.5), {}), ((WHOLE, WHOLE), {})],
    "native_layer_norm.default": [((SQUARE, [4], FLAT, FLAT, 1e-5), {}), ((SQUARE, [4, 4], None, None, 0.1), {})],
    "permute.default": [((BATCH, [2, 0, 1]), {}), ((BATCH, [-1, 0, 1]), {})],
    "relu.default": [((SQUARE,), {})],
    "select.int": [((SQUARE, 0, -1), {}), ((BATCH, 2, 1), {})],
    "sqrt.default": [((FLAT,), {}), ((WHOLE,), {})],
    "squeeze.dim": [((SQUARE[:1], 0), {}), ((SQUARE, -1), {})],
    "sub.Tensor": [((FLAT, SQUARE), {"alpha": 2}), ((FLAT, 1), {})],
    "sum.dim_IntList": [
        ((SQUARE, [0], True), {}),
        ((BATCH, [0, -1]), {}),
        ((BATCH, []), {}),
        ((BATCH, None), {}),
        ((SQUARE, [0]), {"dtype": torch.float64}),
    ],
    "t.default": [((SQUARE,), {}), ((FLAT,), {})],
    "transpose.int": [((BATCH, 0, -1), {})],
    "unsqueeze.default": [((FLAT, 0), {}), ((FLAT, -1), {})],
    "view.default": [((SQUARE, [2, 8]), {}), ((SQUARE, [-1]), {}), ((SCALAR, []), {})],
}


class Arrivals(TorchDispatchMode):
    """Notes what arrives below autograd."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        self.calls.append((str(operator), *map(described, (*arguments, *(keywords or {}).items()))))
        return operator(*arguments, **(keywords or {}))


def described(value):
    """An argument as text; a tensor by its type, memory and content."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {value.stride()} {value.tolist()}"
    return f"{type(value).__name__} {value!r}"


def arrivals(run, arguments, keywords):
    """What arrives when a function is called with copies of these tensors; and what it answers."""
    mode = Arrivals()
    copies = [one.clone() if isinstance(one, torch.Tensor) else one for one in arguments]
    with mode:
        result = run(*copies, **keywords)
    return mode.calls, described(result if isinstance(result, torch.Tensor) else result[0])


def operator_named(name):
    base, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, base), overload)


def test_each_of_the_quick_ways_is_tried_here():
    assert {f"aten.{name}" for name in CALLS} == set(direct._TABLE)


@pytest.mark.parametrize("name", CALLS)
def test_arrives_as_the_operators_own_call_does(name):
    operator = operator_named(name)
    assert direct.runner(operator) is not operator._op
    for arguments, keywords in CALLS[name]:
        assert arrivals(direct.runner(operator), arguments, keywords) == arrivals(operator, arguments, keywords)


def test_any_other_operator_runs_by_its_own_call():
    assert direct.runner(torch.ops.aten.mul.Scalar) is torch.ops.aten.mul.Scalar._op


def test_a_higher_order_operator_is_called_as_it_is():
    assert direct.runner(torch.ops.higher_order.cond) is torch.ops.higher_order.cond
