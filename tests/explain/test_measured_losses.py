"""GS841: the loss itself, computed of other data to be looked at, is no term that was left out."""

import pytest

PROGRAM = '''"""Forces as the slopes of an energy, and how well those of other places are met."""

import torch
from torch import nn

torch.manual_seed(0)
energy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=1e-3)
places, others = torch.randn(32, 2, requires_grad=True), torch.randn(20, 2, requires_grad=True)
seen = []


def misfit(x):
    (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
    return (slope - 2 * x.detach()).square().mean()


for step in range(40):
    {before}
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
'''
SEEN = "\n    seen.append({}.item())"
HEALTHY = {
    "behind the step": {"after": "other_loss = misfit(others)" + SEEN.format("other_loss")},
    "by its name": {"before": "test_loss = misfit(others)" + SEEN.format("test_loss")},
}
FAULTS = {
    "before the loss, of no such name": {"before": "other_loss = misfit(others)" + SEEN.format("other_loss")},
    "by its name, of another form": {
        "before": "val_loss = energy(others).square().mean()" + SEEN.format("val_loss"),
    },
}


def _found(explained, tmp_path, changes):
    script = tmp_path / "forces.py"
    script.write_text(PROGRAM.format(**{"loss": "misfit(places)", "before": "pass", "after": "pass", **changes}))
    return [one.code for one in explained(script).findings if one.code == "GS841"]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_a_measure_is_not_told(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == []


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_a_term_is_told(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == ["GS841"]
