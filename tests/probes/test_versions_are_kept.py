"""Recording leaves every tensor at the version that it has in a plain run."""

import pytest
import torch

import gradscope


def tensors():
    return [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]


FOREACH = {
    "add": lambda written: torch._foreach_add_(written, 2.0),
    "lerp": lambda written: torch._foreach_lerp_(written, [torch.zeros(3), torch.zeros(2)], 0.1),
    "zero": torch._foreach_zero_,
    "copy": lambda written: torch._foreach_copy_(written, [torch.zeros(3), torch.zeros(2)]),
    "addcdiv": lambda written: torch._foreach_addcdiv_(written, tensors(), tensors()),
}


def versions_after(edit):
    written = tensors()
    with torch.no_grad():
        edit(written)
    return [tensor._version for tensor in written]


@pytest.mark.parametrize("edit", FOREACH.values(), ids=FOREACH)
def test_foreach_operators_raise_versions_as_they_do_without_us(edit, tmp_path):
    plain = versions_after(edit)
    with gradscope.record(tmp_path / "run.gscope"):
        recorded = versions_after(edit)
    assert recorded == plain == [1, 1]


def test_a_backward_still_refuses_weights_that_a_foreach_operator_edited(tmp_path):
    with gradscope.record(tmp_path / "run.gscope"):
        weight = torch.ones(3, requires_grad=True)
        loss = (weight * weight).sum()
        with torch.no_grad():
            torch._foreach_mul_([weight], 2.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {"foreach": False}], ids=str)
def test_optimizers_leave_the_same_versions(options, tmp_path):
    def step():
        parameters = tensors()
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        torch.optim.Adam(parameters, **options).step()
        return [parameter._version for parameter in parameters]

    plain = step()
    with gradscope.record(tmp_path / "run.gscope"):
        assert step() == plain
