"""GS727: a leaf of no module is told to be replaced only where its gradients pile up in one that no optimizer has."""

import pytest

PROGRAM = '''"""A price is learned beside a model, and is given a new tensor after some steps."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)


def fit():
    price = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([*model.parameters(), price], lr=0.01)
    for step in range(40):
        optimizer.zero_grad()
        x = torch.randn(8, 3)
        loss = (model(x).mean() * price.exp() - 1).square().sum()
        loss.backward()
        {before}
        optimizer.step()
        if step == 12:
            {change}
        {after}


fit()
'''
NEW = "price = price.detach().clone().requires_grad_(True)"
CHANGES = {"before": "pass", "change": NEW, "after": "pass"}
TWICE = "(model(x).mean() * price.exp() - 1).square().sum().backward()"
HEALTHY = {
    "in place": {"change": "price.data.fill_(0.5)"},
    "with an optimizer of its own": {"change": f"{NEW}; optimizer = torch.optim.Adam([*model.parameters(), price])"},
    "read and cleared": {"after": "print(price.grad) if step > 12 else None; price.grad = None"},
    "updated by hand": {"before": "price.data.sub_(0.01 * price.grad) if step > 12 else None"},
    "made anew by hand": {
        "before": TWICE,
        "change": "pass",
        "after": "price = (price - 0.1 * price.grad).detach().requires_grad_(True) if step > 12 else price",
    },
    "read and not derived": {"change": "price = price.detach()"},
}


def _codes(explained, tmp_path, changes):
    script = tmp_path / "price.py"
    script.write_text(PROGRAM.format(**{**CHANGES, **changes}))
    return [(one.code, one.site.source) for one in explained(script).findings if one.code == "GS727"]


def test_a_leaf_that_was_given_a_new_tensor_is_told(explained, tmp_path):
    assert _codes(explained, tmp_path, {}) == [("GS727", NEW)]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_one_that_has_its_use_is_not(explained, tmp_path, changes):
    assert not _codes(explained, tmp_path, changes)
