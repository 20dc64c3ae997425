"""vmap is told as why there is no graph only where what is derived was computed under it."""

import pytest

ASKS = '''"""A derivative under vmap of what was computed {where}."""

import torch

weight = torch.ones(3, requires_grad=True)
before = (weight.detach() * 2).sum()


def slope(x):
    inside = (weight * x).sum()
    return torch.autograd.grad({where}, weight)[0]


torch.vmap(slope)(torch.ones(4, 3))
'''


@pytest.mark.parametrize(("where", "told"), [("inside", True), ("before", False)])
def test_a_derivative_under_vmap(explained, tmp_path, where, told):
    script = tmp_path / "asks.py"
    script.write_text(ASKS.format(where=where))
    finding = explained(script).findings[0]
    assert ("torch.vmap" in finding.message) is told
