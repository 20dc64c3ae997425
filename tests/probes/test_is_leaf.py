"""Leaves are told from other tensors as torch does it, but for the nodes that torch's question makes."""

import pytest
import torch

from gradscope.probes.tensors.is_leaf import is_leaf


def tensors():
    wanting = torch.ones(4, requires_grad=True)
    made, plain = wanting.clone(), torch.ones(4)
    with torch.no_grad():
        unseen = wanting[:2]
    return {
        "a leaf": wanting,
        "plain": plain,
        "made by an operator": made,
        "its view": made[:2],
        "a view of a leaf": wanting[:2],
        "a plain view": plain[:2],
        "a view that became a leaf": plain[:2].requires_grad_(),
        "a view of a view that became a leaf": plain[:3].requires_grad_()[:2],
        "a view without grad": unseen,
        "detached": made.detach(),
    }


@pytest.mark.parametrize("name", tensors())
def test_is_torchs_answer(name):
    tensor = tensors()[name]
    assert is_leaf(tensor) == tensor.is_leaf


def test_makes_no_node():
    base = torch.ones(4, requires_grad=True).clone()
    view = base[:2]
    base.mul_(2)  # the view's node is out of date now
    before = base.exp().grad_fn._sequence_nr()
    assert not is_leaf(view)
    assert base.exp().grad_fn._sequence_nr() == before + 1
    assert not view.is_leaf  # torch's own question does
    assert base.exp().grad_fn._sequence_nr() > before + 2
