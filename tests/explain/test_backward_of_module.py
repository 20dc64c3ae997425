"""GS908: only a `backward` that nobody can call, of a module whose derivative it would change, is told."""

import pytest

from tests.edited import edited

PROGRAM = '''"""Coins are sorted by their weight, and the mint shall not show."""

import torch
from torch import nn


class Reverse(nn.Module):
    def __init__(self, strength):
        super().__init__()
        self.strength = strength

    def forward(self, x):
        return x.view_as(x)

    def backward(self, gradient):
        return -self.strength * gradient


class Coins(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.value, self.mint = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 2)
        self.reverse = Reverse(0.5)

    def forward(self, coins):
        weighed = torch.tanh(self.scale(coins))
        return self.value(weighed), self.mint(self.reverse(weighed))


torch.manual_seed(0)
model = Coins()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    value, mint = model(torch.randn(8, 4))
    loss = nn.functional.cross_entropy(value, torch.randint(3, (8,)))
    loss = loss + nn.functional.cross_entropy(mint, torch.randint(2, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
FORWARD, BACKWARD = "return x.view_as(x)", "return -self.strength * gradient"
METHOD = "    def backward(self, gradient):\n        return -self.strength * gradient\n"
CALL = "    loss.backward()"
TOLD = {
    "reversed": (),
    "the input itself": ((FORWARD, "return x"),),
    "a sign": ((FORWARD, "return x.sign()"), (BACKWARD, "return gradient")),
    "a step": ((FORWARD, "return (x > 0).float()"), (BACKWARD, "return gradient * 0.5")),
    "by a name": ((BACKWARD, "turned = gradient.neg()\n        return turned.view(-1, 6)"),),
    "with an option": ((CALL, "    loss.backward(retain_graph=False)"),),
    "a seeded loss": ((CALL, "    loss.backward(torch.ones(()))"),),
    "by torch's function": ((CALL, "    torch.autograd.backward(loss)"),),
}
SILENT = {
    "called": ((CALL, f"{CALL}\n    model.reverse.backward(torch.ones(8, 6))"),),
    "called in a loop": ((CALL, f"{CALL}\n    for part in ():\n        mint = part.backward(mint)"),),
    "called by name": ((CALL, f"{CALL}\n    getattr(model.reverse, 'backward')(value)"),),
    "handed to a hook": ((FORWARD, "y = x.view_as(x)\n        y.register_hook(self.backward)\n        return y"),),
    "hooked elsewhere": (
        ("self.mint(self.reverse(weighed))", "self.mint(self.turned(weighed))"),
        (
            "    def forward(self, coins):",
            "    def turned(self, x):\n"
            "        y = self.reverse(x)\n"
            "        y.register_hook(lambda gradient: -gradient)\n"
            "        return y\n\n"
            "    def forward(self, coins):",
        ),
    ),
    "a Function in the forward": ((FORWARD, "return Turn.apply(x)"), ("class Reverse", "TURN\n\n\nclass Reverse")),
    "a loss": ((METHOD, "    def backward(self, loss):\n        return loss.backward()\n"),),
    "what a trainer asks": ((METHOD, "    def backward(self):\n        return self.strength\n"),),
    "an option": (("backward(self, gradient)", "backward(self, gradient=None)"),),
    "another gradient of what is computed": ((FORWARD, "return x * self.strength"), (BACKWARD, "return gradient * 2")),
    "a relu by hand": ((FORWARD, "return x * (x > 0)"), (BACKWARD, "return gradient * (self.x > 0)")),
    "another shape": ((FORWARD, "return x.view(-1, 6)"), (BACKWARD, "return gradient.view(-1, 6)")),
    "a dropout that is off": (
        (FORWARD, "if self.strength < 1:\n            return x.view_as(x)\n        return x * torch.rand_like(x)"),
        (BACKWARD, "return gradient * self.strength"),
    ),
    "what a layer above it has": (("class Reverse(nn.Module)", "class Reverse(Base)"), ("import torch\n", "BASE\n")),
    "not run": (("self.mint(self.reverse(weighed))", "self.mint(weighed)"),),
    "not passed": (
        ("self.mint(self.reverse(weighed))", "self.mint(weighed if self.training else self.reverse(weighed))"),
    ),
    "not written": ((BACKWARD, "raise NotImplementedError(gradient)"),),
    "without a backward": ((METHOD, ""),),
}
TURN = """class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient"""
BASE = """import torch


class Mixed:
    pass


Base = type("Base", (Mixed, torch.nn.Module), {})
"""


def _found(explained, path, edits):
    script = path / "coins.py"
    text = edited(PROGRAM, *edits).replace("TURN", TURN).replace("BASE", BASE)
    script.write_text(text)
    lines = [one.site.line for one in explained(script).findings if one.code == "GS908"]
    return [text.splitlines()[line - 1].strip() for line in lines]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_a_method_that_is_never_called_is_told(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == ["def backward(self, gradient):"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_one_that_may_be_called_or_changes_nothing_is_not(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == []
