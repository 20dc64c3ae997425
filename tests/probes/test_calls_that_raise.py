"""A backward call is recorded with the exception that came out of it, and with no other."""

import pytest
import torch

import gradscope


def exceptions(path):
    with gradscope.load(path) as recording:
        return [one.exception for one in recording.backwards()]


def test_one_that_raises(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * weight).sum()
    with gradscope.record(tmp_path / "run.gscope"):
        loss.backward()
        with pytest.raises(RuntimeError):
            loss.backward()
    first, second = exceptions(tmp_path / "run.gscope")
    assert first is None
    assert second.startswith("RuntimeError: Trying to backward through the graph a second time")


def test_one_that_succeeds_where_an_exception_is_being_handled(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope"):
        try:
            raise MemoryError("a smaller batch, then")
        except MemoryError:
            (weight * weight).sum().backward()
    assert exceptions(tmp_path / "run.gscope") == [None]


def test_one_that_raises_where_another_is_being_handled(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * weight).sum()

    def refuse(gradient):
        raise ValueError("no")

    def again():
        try:
            raise MemoryError("a smaller batch, then")
        except MemoryError:
            loss.backward()

    weight.register_hook(refuse)
    with gradscope.record(tmp_path / "run.gscope"), pytest.raises(ValueError, match="no"):
        again()
    assert exceptions(tmp_path / "run.gscope") == ["ValueError: no"]
