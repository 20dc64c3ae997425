"""GS878: parameters over one memory are told where an optimizer steps each of them, at the line that made them so."""

import pytest

from gradscope.model.finding import Severity

PROGRAM = '''"""Squeezes spectra through a layer whose transposed weight is to spread them again."""

import copy

import torch
from torch import nn


class Squeeze(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow, self.wide = nn.Linear(9, 4, bias=False), nn.Linear(4, 9, bias=False)
        self.scale, self.shift = nn.Parameter(torch.ones(9)), nn.Parameter(torch.zeros(9))
        {tie}

    def forward(self, spectra):
        return self.wide(torch.tanh(self.narrow(spectra))) * self.scale + self.shift


torch.manual_seed(0)
model = Squeeze()
held = list(model.parameters())
{before}
optimizer = torch.optim.{optimizer}
for _ in range(6):
    spectra = torch.randn(8, 9)
    loss = (model(spectra) - spectra).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
TIED = "self.wide.weight.data = self.narrow.weight.data.t()"
SET = "self.wide.weight.set_(self.narrow.weight.t()); self.scale.data = self.scale.data * 2"
LOADED = "model.load_state_dict({'narrow.weight': same, 'wide.weight': same.t()}, strict=False, assign=True)"
USUAL = {"tie": TIED, "before": "held.sort(key=len)", "optimizer": "Adam(held, lr=0.01)"}
LINES = {
    "by its data": ({}, TIED),
    "by a Parameter of its data": (
        {"tie": "self.wide.weight = nn.Parameter(self.narrow.weight.data.t())"},
        "self.wide.weight = nn.Parameter(self.narrow.weight.data.t())",
    ),
    "by set_()": ({"tie": f"with torch.no_grad(): {SET}"}, f"with torch.no_grad(): {SET}"),
    "in a loop": (
        {"tie": "pass", "before": "for p, q in [(model.wide.weight, model.narrow.weight)]: p.data = q.data.t()"},
        "for p, q in [(model.wide.weight, model.narrow.weight)]: p.data = q.data.t()",
    ),
    "by a state": (
        {"tie": "pass", "before": f"same = torch.randn(4, 9)\n{LOADED}\nheld = list(model.parameters())"},
        LOADED,
    ),
    "out of sight": (
        {"tie": "setattr(self.wide.weight, 'data', self.narrow.weight.data.t())"},
        "optimizer = torch.optim.Adam(held, lr=0.01)",
    ),
}
APART = {
    "a copy": {"tie": "self.wide.weight.data = self.narrow.weight.data.t().clone()"},
    "halves of one memory": {
        "tie": "both = torch.zeros(18); self.scale.data, self.shift.data = both[:9], both[9:]; self.scale.data.fill_(1)"
    },
    "one of them rests": {"tie": f"{TIED}; self.wide.weight.requires_grad_(False)"},
    "one is not held": {"before": "held = [one for one in held if one is not model.wide.weight]"},
    "an average beside it": {
        "tie": "pass",
        "before": "mean = copy.deepcopy(model)\nfor one, own in zip(mean.parameters(), held): one.data = own.data",
    },
    "one parameter": {"tie": "self.shift = self.scale"},
}


def told(explained, tmp_path, **how):
    script = tmp_path / "squeeze.py"
    script.write_text(PROGRAM.format(**{**USUAL, **how}))
    return [one for one in explained(script).findings if one.code == "GS878"]


@pytest.mark.parametrize(("how", "line"), LINES.values(), ids=LINES)
def test_the_line_that_makes_them_share_is_named(explained, tmp_path, how, line):
    assert [(one.severity, one.site.source) for one in told(explained, tmp_path, **how)] == [(Severity.WARNING, line)]


def test_sgd_goes_as_far_along_the_sum(explained, tmp_path):
    assert [one.severity for one in told(explained, tmp_path, optimizer="SGD(held, lr=0.01)")] == [Severity.INFO]


@pytest.mark.parametrize("how", APART.values(), ids=APART)
def test_nothing_is_told_of_what_is_apart(explained, tmp_path, how):
    assert told(explained, tmp_path, **how) == []
