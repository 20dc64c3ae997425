"""At which version a custom Function saved a tensor: asked of it alone, or of all at once where torch has no way."""

import pytest
import torch

from gradscope.probes.tensors import saved
from tests.functions.cases.choices import Combined
from tests.torch_versions import needs_saved_tensors

pytestmark = needs_saved_tensors


@pytest.fixture(params=["alone", "together"])
def asked(request, monkeypatch):
    if request.param == "together":
        monkeypatch.setattr(saved, "unpack_saved", None)
    elif saved.unpack_saved is None:
        pytest.skip("this torch has no torch._C._autograd.SavedTensor.unpack")
    return request.param


def versions(product):
    return [saved.moved(product.grad_fn, name, one) for name, one in saved.saved_of(product.grad_fn)]


def test_the_tensor_that_was_written_is_told(asked):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    product = Combined.apply(x, y)
    y.add_(1)
    assert versions(product) == [None, (0, 1)]


def test_nothing_is_told_where_nothing_was_written(asked):
    assert versions(Combined.apply(torch.ones(2, requires_grad=True), torch.ones(2))) == [None, None]


def test_of_two_at_the_same_version_none_is_accused_where_torch_names_none(asked):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    y.add_(1)  # before it is saved
    product = Combined.apply(x, y)
    with torch.no_grad():
        x.add_(1)
    assert versions(product) == ([(0, 1), None] if asked == "alone" else [None, None])


def test_an_unpack_hook_of_the_program_is_not_run(asked):
    ran = []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: ran.append(kept) or kept):
        product = Combined.apply(torch.ones(2, requires_grad=True), torch.ones(2))
    versions(product)
    assert ran == []
