"""A rate that moves nothing is told of a model that begins with it, for as long as nothing says that it is meant."""

import pytest

PROGRAM = '''"""Trains at a tiny rate."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for step in range(70):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
'''
TOLD = {
    "as it is": ("", ""),
    "Adam": ("SGD", "Adam"),
}
SILENT = {
    "a few steps": ("range(70)", "range(60)"),
    "a usual rate": ("1e-6", "1e-3"),
    "large gradients": (".mean()", ".mean() * 1e6"),
    "in its warm-up": ("    optimizer.step()\n", "    optimizer.step()\n    optimizer.param_groups[0]['lr'] *= 1.01\n"),
    "trained before": ("optimizer =", "model.load_state_dict(torch.nn.Linear(4, 2).state_dict())\noptimizer ="),
}


def codes(explained, tmp_path, edit):
    script = tmp_path / "tiny.py"
    script.write_text(PROGRAM.replace(*edit) if edit[0] else PROGRAM)
    return [one.code for one in explained(script).findings]


@pytest.mark.parametrize("edit", TOLD.values(), ids=TOLD)
def test_nothing_has_moved(explained, tmp_path, edit):
    assert codes(explained, tmp_path, edit) == ["GS805"]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_may_be_meant(explained, tmp_path, edit):
    assert codes(explained, tmp_path, edit) == []
