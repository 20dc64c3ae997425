"""A layer that nothing calls is told where it is made, not where it gets its first values; a killed run hints it."""

from dataclasses import replace

import pytest

from gradscope.model.finding import Severity
from gradscope.store.facts import Facts

PROGRAM = '''"""Players of a game: what a player does is learned, and what a state is worth is to be."""

import torch
from torch import nn


def scaled(layer, scale):
    with torch.no_grad():
        layer.weight.data *= scale / layer.weight.norm(dim=1, p=2, keepdim=True)
        layer.bias *= 0
    return layer


class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = scaled(nn.Linear(4, 8), 1.4)
        self.acts = scaled(nn.Linear(8, 2), 0.1)
        self.worth = scaled(nn.Linear(8, 1), 0.1)

    def forward(self, x):
        return self.acts(torch.tanh(self.body(x)))


torch.manual_seed(0)
player = Player()
optimizer = torch.optim.Adam(player.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(player(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
SETTINGS = {
    "scaled": PROGRAM,
    "written": PROGRAM.replace("layer.weight.data *=", "layer.weight *="),
    "copied": PROGRAM.replace("layer.weight.data *= scale", "layer.weight.data.copy_(layer.weight * scale").replace(
        "keepdim=True)\n", "keepdim=True))\n"
    ),
}


def told(explained, tmp_path, text):
    script = tmp_path / "players.py"
    script.write_text(text)
    found = [one for one in explained(script).findings if one.code == "GS726"]
    return [(text.splitlines()[one.site.line - 1].strip(), one.severity) for one in found]


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_the_line_that_makes_it(explained, tmp_path, text):
    assert told(explained, tmp_path, text) == [("self.worth = scaled(nn.Linear(8, 1), 0.1)", Severity.WARNING)]


def test_a_killed_run_may_use_it_later(explained, tmp_path, monkeypatch):
    run = Facts.run
    monkeypatch.setattr(Facts, "run", lambda self: replace(run(self), ended=False))
    assert told(explained, tmp_path, PROGRAM) == [("self.worth = scaled(nn.Linear(8, 1), 0.1)", Severity.INFO)]
