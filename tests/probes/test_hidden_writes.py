"""Writes that autograd does not see are noted, and only these: each one noted costs a look at the graph."""

import pytest
import torch

import gradscope
from gradscope.probes.operators.inplace_writes import InplaceWrites
from tests.torch_versions import needs_saved_tensors


@pytest.fixture
def noted(monkeypatch):
    storages = []
    monkeypatch.setattr(InplaceWrites, "_note", lambda self, tensor, storage, *call: storages.append(storage))
    return storages


def through_data(result):
    result.data.add_(1)


def through_a_view_of_data(result):
    result.data[0] = 1.0


def under_no_grad(result):
    with torch.no_grad():
        result.add_(1)


@needs_saved_tensors
@pytest.mark.parametrize("edit", [through_data, through_a_view_of_data, under_no_grad])
def test_a_hidden_write_is_noted(edit, noted, tmp_path):
    with gradscope.record(tmp_path / "run.gscope"):
        result = torch.ones(3, requires_grad=True) * 2
        edit(result)
    assert noted == [result.untyped_storage()._cdata]


def test_fresh_tensors_and_tracked_edits_are_not(noted, tmp_path):
    with gradscope.record(tmp_path / "run.gscope"):
        weight = torch.ones(3, requires_grad=True)
        torch.zeros(3).add_(1)
        torch.zeros(3)[0] = 1.0
        torch.nn.functional.dropout(weight, 0.5)
        (weight * 2).add_(1)
        buffer = torch.zeros(3)
        buffer[0] = weight.sum()
    assert noted == []
