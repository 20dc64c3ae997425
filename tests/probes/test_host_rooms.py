"""Pinned memory is used again and never freed: to free it asks the device, which may have failed."""

import weakref

import pytest
import torch

from gradscope.probes.tensors import accelerators


@pytest.fixture(autouse=True)
def unpinned(monkeypatch):
    """Memory that this machine can give, and no rooms yet."""
    pinned = torch.empty

    def empty(*sizes, pin_memory, **how):
        return pinned(*sizes, **how)

    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(accelerators, "_free_rooms", {})


def test_what_was_given_back_is_used_again():
    first = accelerators.host_room(5, torch.float32)
    assert accelerators.host_room(5, torch.float32) is not first
    accelerators.give_back(first)
    assert accelerators.host_room(3, torch.float32) is first


def test_another_dtype_or_a_larger_count_gets_another_one():
    accelerators.give_back(first := accelerators.host_room(5, torch.float32))
    assert accelerators.host_room(5, torch.float64) is not first
    assert accelerators.host_room(len(first) + 1, torch.float32) is not first


def test_one_that_is_not_given_back_lives_on():
    room = accelerators.host_room(5, torch.float32)
    lives = weakref.ref(room)
    del room
    assert lives() is not None
