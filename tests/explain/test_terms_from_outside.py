"""GS841: a term that numpy or Python computed of a result, and what only looks like one."""

import pytest

PROGRAM = '''"""Learns to smooth a signal, with a second term on how its values are spread."""

import math
import statistics

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 12))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
history, price = [], 0.1


{helper}


for step in range(40):
    x = torch.randn(16, 12)
    y = x.cumsum(1) / 4
    made = model(x)
    fit = (made - y).square().mean()
    {term}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
print(f"{{loss.item():.4f}}")
'''
ADDED = "term = of(made, y)\n    loss = fit + 0.1 * term"
FAULTS = {
    "distance of sorted values": {
        "helper": """def distance(a, b):
    gaps = np.abs(np.sort(a, axis=None) - np.sort(b, axis=None))
    return torch.from_numpy(np.asarray(gaps.mean())).float()


def of(a, b):
    first = a.detach().cpu().numpy()  # here
    return distance(first, b.numpy())""",
    },
    "entropy by math and lists": {
        "helper": """def entropy(shares):
    return -sum(one * math.log(one + 1e-9) for one in shares)


def of(a, b):
    total, values = 0.0, torch.softmax(a, 1).tolist()  # here
    for row in values:
        total += entropy(row)
    return torch.tensor(total / len(values))""",
    },
    "statistics of items": {
        "helper": """def of(a, b):
    spreads = []
    for row, wanted in zip(a, b):
        spread = row.std().item()  # here
        spreads.append(abs(spread - wanted.std().item()))
    return torch.as_tensor(statistics.fmean(spreads), dtype=torch.float32)""",
    },
    "a class": {
        "helper": """class Roughness:
    def __init__(self, order):
        self.order = order

    def values(self, result):
        return result.data.numpy()

    def __call__(self, result, wanted):
        values = self.values(result)
        rough = np.diff(values, self.order, axis=1)
        return torch.tensor(float(np.square(rough).mean()))


of = Roughness(2)""",
        "line": "return result.data.numpy()",
    },
    "a term that begins late": {
        "helper": """def of(a, b):
    means = np.mean(a.detach().numpy(), axis=0)  # here
    return torch.tensor(np.ptp(means))""",
        "term": "loss = fit\n    if step >= 12:\n        loss = loss + 0.1 * of(made, y)",
    },
    "a list of the result itself": {
        "helper": """def of(a, b):
    first = [one for row in a.tolist() for one in row]  # here
    return torch.tensor([abs(x - y) for x, y in zip(sorted(first), sorted(b.flatten().tolist()))]).mean()""",
    },
    "taken off, of numbers of the weights": {
        "helper": """def of(a, b):
    norms = [float(one.norm()) for one in model.parameters()]  # here
    return torch.tensor([max(norms), min(norms)]).sum()""",
        "term": "loss = fit - 1e-3 * of(made, y)",
    },
}
HEALTHY = {
    "a metric that is printed": {
        "helper": "def of(a, b):\n    return torch.tensor(np.abs(a.detach().numpy() - b.numpy()).max())",
        "term": "loss, seen = fit, of(made, y) + 0.0",
    },
    "a weight from the values": {
        "helper": "def of(a, b):\n    return torch.tensor(float(np.exp(-np.abs(a.detach().numpy()).mean())))",
        "term": "loss = fit + of(made, y) * made.square().mean()",
    },
    "a weight for each sample": {
        "helper": "def of(a, b):\n    return torch.from_numpy(np.abs(a.detach().numpy() - b.numpy()).mean(1))",
        "term": "loss = (of(made, y) * (made - y).square().mean(1)).mean()",
    },
    "a target": {
        "helper": "def of(a, b):\n    return torch.tensor((0.1 * a.detach().numpy() + 0.9 * b.numpy()).mean())",
        "term": "loss = fit + (made.mean() - of(made, y)).abs()",
    },
    "a penalty on data": {
        "helper": "def of(a, b):\n    return torch.tensor(np.abs(b.numpy()).mean())",
    },
    "balanced by a number": {
        "helper": "def of(a, b):\n    return (a.mean(0) - b.mean(0)).abs().mean()",
        "term": "term = of(made, y)\n    scale = torch.tensor(fit.item() / term.item())\n    loss = fit + scale * term",
    },
    "a multiplier": {
        "helper": "def of(a, b):\n    return a.square().mean() - 0.5",
        "term": "held = of(made, y)\n    weight = torch.tensor(price)\n    loss = fit + weight * held - 0.01 * weight",
        "after": "price = max(0.0, price + 0.1 * held.item())",
    },
    "a multiplier that is set before": {
        "helper": "def of(a, b):\n    return a.square().mean()",
        "term": "held = of(made, y)\n    price = price + 0.1 * held.item()\n    weight = torch.tensor(price)\n"
        "    loss = fit + weight * held - 0.5 * weight",
    },
    "what is shown for what trains": {
        "helper": "def of(a, b):\n    return torch.tensor(np.abs(a.detach().numpy() - b.numpy()).max())",
        "term": "loss = fit - fit.detach() + of(made, y)",
    },
    "flooded": {
        "helper": "def of(a, b):\n    return torch.tensor(0.1 * float(a.detach().numpy().std()))",
        "term": "level = of(made, y)\n    loss = (fit - level).abs() + level",
    },
    "a slope by hand": {
        "helper": """def solved(values):
    return float(np.square(values).mean()), 2 * values / values.size


def of(a, b):
    values = a.detach().numpy()
    value, slope = solved(values)
    seen = torch.tensor(value)
    return seen, (a * torch.from_numpy(slope)).sum()""",
        "term": "value, slope = of(made, y)\n    loss = fit + value + slope",
    },
    "a slope that is handed on": {
        "helper": "def of(a, b):\n    return torch.tensor(np.square(a.detach().numpy()).mean())",
        "term": "both = fit + of(made, y), made\n"
        "    torch.autograd.backward(both, (torch.tensor(1.0), 0.01 * y), retain_graph=True)\n    loss = fit",
    },
    "a list of the wanted": {
        "helper": "def of(a, b):\n    return torch.tensor([max(row) for row in b.tolist()]).mean()",
    },
    "choices made by a rule": {
        "helper": "def of(a, b):\n    return torch.tensor(0.1 if a.detach().numpy().std() > 1 else 0.2)",
    },
    "how many there are": {
        "helper": "def of(a, b):\n    return torch.tensor(1.0 / a.detach().numpy().shape[0])",
    },
    "the average of steps before": {
        "helper": "def of(a, b):\n    return torch.tensor(float(np.mean(history or [0.0])))",
        "term": "loss = fit - of(made, y)",
        "after": "history.append(fit.item())",
    },
}


def _told(explained, tmp_path, changes):
    text = PROGRAM.format(**{"term": ADDED, "after": "pass", **changes})
    script = tmp_path / "smooth.py"
    script.write_text(text)
    lines = [line.partition("  # here")[0].strip() for line in text.splitlines()]
    marked = next((line.strip() for line in text.splitlines() if "# here" in line), changes.get("line", ""))
    found = [lines[one.site.line - 1] for one in explained(script).findings if one.code == "GS841"]
    return found, marked.partition("  # here")[0]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_the_line_that_takes_the_value_out_is_told(explained, tmp_path, changes):
    found, line = _told(explained, tmp_path, changes)
    assert found == [line]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_what_is_no_term_is_not_told(explained, tmp_path, changes):
    assert _told(explained, tmp_path, changes)[0] == []
