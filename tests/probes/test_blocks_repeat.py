"""Equal steps have equal blocks of operators, wherever their memory lies."""

import random
import sqlite3

import pytest
import torch
from torch import nn

import gradscope
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.operators.blocks import is_alone, numbered
from tests.torch_versions import needs_saved_tensors


def test_a_new_storage_at_a_dead_ones_address_gets_a_number_of_its_own():
    thread, first, second = Thread(0), torch.zeros(2), torch.zeros(2)
    seen = [numbered(thread, first), numbered(thread, first.add_(1))]
    thread.tensors = {second.untyped_storage()._cdata: 0}  # as if the first were dead, and its memory used again
    assert [*seen, numbered(thread, second)] == [(0, 0), (0, 1), (1, 0)]


@needs_saved_tensors
def test_an_alias_by_data_keeps_its_storages_number():
    thread, owner = Thread(0), torch.zeros(2)
    assert numbered(thread, owner) == (0, 0)
    owner.add_(1)
    assert [numbered(thread, owner), numbered(thread, owner.data)] == [(0, 1), (0, 0)]
    assert numbered(thread, owner.data.add_(1).data) == (0, 0)


def test_views_do_not_share_with_their_base_and_aliases_do():
    owner = torch.zeros(2)
    view, alias = owner[:1], torch.zeros(2)
    shared = alias.data
    assert is_alone(view, view.untyped_storage()._cdata)
    assert not is_alone(shared, shared.untyped_storage()._cdata)


@pytest.mark.parametrize("detail", ["ops", "full"])
def test_steps_repeat_though_memory_is_used_again_in_another_order(tmp_path, detail):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.ReLU(inplace=True), nn.Linear(8, 4), nn.Dropout(0.1))
    optimizer = torch.optim.AdamW(model.parameters())
    chance, kept = random.Random(0), []
    with gradscope.record(tmp_path / "run.gscope", detail=detail):
        for _ in range(24):
            with torch._C._DisableTorchDispatch():  # out of the recording's sight
                kept = [torch.ones(chance.randrange(1, 64)) for _ in range(chance.randrange(40))]
            optimizer.zero_grad()
            model(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
    connection = sqlite3.connect(tmp_path / "run.gscope")
    runs = [block for (block,) in connection.execute("SELECT block FROM block_run ORDER BY number")]
    connection.close()
    assert kept
    assert len(set(runs[12:-1])) == 2  # a step and the forward after it, a backward
