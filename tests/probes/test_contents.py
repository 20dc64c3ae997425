"""A sample of a tensor's memory tells whether something else lies there, and never touches the memory."""

import pytest
import torch

from gradscope.probes.tensors.contents import content_of, is_changed


@pytest.mark.parametrize("tensor", [torch.rand(6), torch.rand(4, 6).t(), torch.rand(4, 6)[1:, ::2], torch.rand(20_000)])
def test_what_is_written_is_seen(tensor):
    before = content_of(tensor)
    assert not is_changed(before, tensor)
    tensor.data.add_(1)
    assert is_changed(before, tensor)


def test_a_neighbour_does_not_count():
    whole = torch.rand(10)
    before = content_of(whole[:5])
    whole[5:] = 0
    assert not is_changed(before, whole)


def test_memory_that_was_given_back_stays_so():
    tensor = torch.rand(6)
    before = content_of(tensor)
    tensor.untyped_storage().resize_(0)
    assert not is_changed(before, tensor)
    assert tensor.untyped_storage().nbytes() == 0
