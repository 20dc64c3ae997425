"""GS841: only gradients with a graph that became no more than a number, which no loss contains, are told."""

import pytest

PROGRAM = '''"""A regression whose slope along the inputs is to be small."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data, wanted = torch.randn(24, 4), torch.randn(24, 1)
seen = []


def slopes(x):
    x = x.clone().requires_grad_(True)
    return x, torch.autograd.grad(model(x).sum(), x, create_graph={graph})[0]


def {name}(x):
    return slopes(x)[1].square().mean()


def objective(x, y, step):
    fit = (model(x) - y).square().mean()
    {do}
    return {gives}


for step in range(8):
    loss = objective(data, wanted, step)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
'''
FAULT = {"graph": "True", "name": "steep", "do": "seen.append(steep(x).item())", "gives": "fit", "after": "pass"}
FAULTS = {
    "shown": {},
    "kept without its graph": {"do": "seen.append(steep(x).detach())"},
    "given a name": {"do": "wavy = steep(x) * 0.1", "gives": "fit", "after": "pass"},
    "given back beside": {"do": "wavy = steep(x)", "gives": "(print(wavy.item()), fit)[1]"},
}
HEALTHY = {
    "without a graph": {"graph": "False"},
    "in the loss": {"do": "wavy = steep(x)", "gives": "fit + wavy"},
    "in the loss now and then": {"do": "wavy = steep(x)", "gives": "fit + wavy if step % 3 == 0 else fit"},
    "a backward of its own": {"do": "steep(x).backward()"},
    "a backward of its own afterwards": {"after": "steep(data).backward()", "do": "wavy = steep(x)"},
    "measured": {"name": "measure"},
    "measured now and then": {"do": "seen.append(steep(x).item()) if step % 3 == 0 else None"},
    "the same call in a loss as well": {
        "do": "wavy = steep(x)",
        "gives": "fit + wavy",
        "after": "seen.append(steep(data).item())",
    },
    "a weight": {"do": "share = steep(x).item()\n    fit = fit * (1 + share)"},
    "inputs that are attacked": {
        "do": "x, slope = slopes(x)\n    seen.append(slope.square().mean().item())",
        "gives": "fit + (model(x.detach() + 0.1 * slope.detach().sign()) - y).square().mean()",
    },
    "a second derivative": {
        "do": "x, slope = slopes(x)\n    seen.append(slope.square().mean().item())\n"
        "    seen.append(torch.autograd.grad(slope.sum(), x)[0].sum().item())",
    },
    "written into data": {
        "do": "x, slope = slopes(x)\n    seen.append(slope.mean().item())\n    wanted.add_(slope.detach().mean())"
    },
    "kept as they are": {"do": "x, slope = slopes(x)\n    seen.append((slope.detach(), slope.mean().item()))"},
    "kept in full": {"do": "x, slope = slopes(x)\n    seen.append((slope * 2, slope.mean().item()))"},
}


def _found(explained, tmp_path, changes):
    script = tmp_path / "smooth.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    lines = script.read_text().splitlines()
    return [lines[one.site.line - 1].strip() for one in explained(script).findings if one.code == "GS841"]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_a_slope_that_no_loss_contains_is_told(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == [f"return {({**FAULT, **changes})['gives']}"]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_one_that_is_used_or_measured_is_not(explained, tmp_path, changes):
    assert not _found(explained, tmp_path, changes)
