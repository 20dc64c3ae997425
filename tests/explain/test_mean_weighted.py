"""Weights of samples that are multiplied by one number for all of them, and factors that are meant so."""

import pytest

PROGRAM = '''"""The mean of a loss is multiplied by weights."""

import torch
from torch.nn import functional as F

net = torch.nn.Linear(3, 5)
for _ in range(4):
    x, y, weights = torch.randn(8, 3), torch.randint(0, 5, (8,)), torch.rand(8)
    loss = F.cross_entropy(net(x), y)
    weighed = loss * weights
    weighed.mean().backward()
'''
SILENT = {
    "each has its loss": ("net(x), y)", 'net(x), y, reduction="none")'),
    "all alike": ("torch.rand(8)", "torch.full((8,), 0.5)"),
    "a weight for each of other things": ("torch.rand(8)", "torch.rand(6)"),
    "of several losses": ("F.cross_entropy(net(x), y)", "F.cross_entropy(net(x), y) + 0.1 * net.weight.square().sum()"),
    "one for all": ("torch.rand(8)", "torch.rand(())"),
    "learned": ("torch.rand(8)", "torch.rand(8, requires_grad=True)"),
    "each is used": ("weighed.mean()", "weighed.square().mean()"),
    "a part is used": ("weighed.mean()", "weighed[2]"),
    "parts are derived": ("weighed.mean().backward()", "weighed.backward(torch.rand(8))"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "weighed.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS746"]


def test_the_line_that_takes_the_mean(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS746", 9)]


def test_a_mask_of_words(explained, tmp_path):
    edit = ("x, y, weights = torch.randn(8, 3), torch.randint(0, 5, (8,)), torch.rand(8)",)
    words = "x, y, weights = torch.randn(8, 3), torch.randint(0, 5, (8,)), (torch.rand(2, 4) > 0.3)"
    assert told(explained, tmp_path, *edit, words) == [("GS746", 9)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_a_factor_that_is_meant(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
