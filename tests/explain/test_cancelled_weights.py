"""GS747: weights of classes cancel out only where each loss is the mean over one sample."""

import pytest

PROGRAM = '''"""Leaves are told apart, one or more at a time."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
weights = {weights}
for step in range(8):
    leaves = torch.randn({count}, 5)
    loss = nn.functional.cross_entropy({scores}, leaves.argmax(1) % 3, {given})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
FAULT = {"weights": "torch.tensor([1.0, 5.0, 2.0])", "count": "1", "scores": "net(leaves)", "given": "weights"}
SILENT = {
    "several": {"count": "4"},
    "one at the end": {"count": "4 if step < 7 else 1"},
    "none": {"given": "None"},
    "alike": {"weights": "torch.ones(3)"},
    "summed": {"given": "weights, reduction='sum'"},
    "smoothed": {"given": "weights, label_smoothing=0.1"},
    "by settings": {"given": "**{'weight': weights, 'reduction': 'sum'}"},
    "each by itself": {"given": "weights, reduction='none').sum("},
}


def _told(explained, tmp_path, changes):
    script = tmp_path / "leaves.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    return [one.site.line for one in explained(script).findings if one.code == "GS747"]


def test_one_sample_each_time(explained, tmp_path):
    assert _told(explained, tmp_path, {}) == [12]


@pytest.mark.parametrize("changes", SILENT.values(), ids=SILENT)
def test_weights_that_count(explained, tmp_path, changes):
    assert not _told(explained, tmp_path, changes)
