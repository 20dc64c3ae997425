"""A tensor made of Python's numbers reads the results that these numbers came from."""

import pytest
import torch
from torch import nn

import gradscope


def reads_of_what_came_from_python(path, make):
    """Train for two steps on what `make` returns for two losses; which tensors the new one's operator has read."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    with gradscope.record(path):
        for _ in range(2):
            first, second = model(torch.randn(4, 3)).square().mean(0)
            (make(first, second).sum() * model.weight.sum()).backward()
    with gradscope.load(path) as recording:
        made = [one for one in recording.flow() if "lift_fresh" in one.operation.name and one.backward is None]
        return [[read.requires_grad for read in one.reads] for one in made]


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_the_losses_in_a_list_are_read(tmp_path):
    reads = reads_of_what_came_from_python(tmp_path / "run.gscope", lambda a, b: torch.tensor([a, b]))
    assert [sum(one) for one in reads] == [2, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: torch.tensor([0.25, 3.5]),
        lambda a, b: torch.tensor([a.item(), b.item()]),
        lambda a, b: torch.tensor([1.0, 0.0]) * (a + b).detach(),
    ],
    ids=["other numbers", "an item is an operator of its own", "whole numbers"],
)
def test_nothing_else_is(tmp_path, make):
    assert not any(any(one) for one in reads_of_what_came_from_python(tmp_path / "run.gscope", make))
