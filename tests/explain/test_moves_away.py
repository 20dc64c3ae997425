"""GS907: only a copy of the weights that is taken further from them, again and again, moves the wrong way."""

import pytest

from tests.edited import edited

PROGRAM = '''"""The weather of a valley, with a copy of the weights beside it."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
wind = torch.randn(32, 3)
rain = wind.prod(1, keepdim=True)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
beside = [p.detach().clone() for p in model.parameters()]
share, decay = 0.1, 0.9


@torch.no_grad()
def follow(share=0.1):
    for slow, fast in zip(beside, model.parameters()):
        slow.add_(slow - fast, alpha=share)


for step in range(12):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(wind), rain).backward()
    optimizer.step()
    follow()
'''
MOVE = "slow.add_(slow - fast, alpha=share)"
TOLD = {
    "added": (),
    "a product": ((MOVE, "slow.add_(share * (slow - fast))"),),
    "in place": ((MOVE, "slow += (slow - fast) * (1 - decay)"),),
    "the opposite subtracted": ((MOVE, "slow.sub_(fast - slow, alpha=share)"),),
    "through data": ((MOVE, "slow.data.add_(torch.sub(slow, fast.data), alpha=0.1)"),),
    "copied": ((MOVE, "slow.copy_(slow + 0.1 * (slow - fast))"),),
    "and back": ((MOVE, f"{MOVE}\n        fast.copy_(slow)"),),
}
SILENT = {
    "towards them": ((MOVE, "slow.add_(fast - slow, alpha=share)"),),
    "the distance subtracted": ((MOVE, "slow.sub_(slow - fast, alpha=share)"),),
    "interpolated": ((MOVE, "slow.lerp_(fast, share)"),),
    "an average": ((MOVE, "slow.mul_(decay).add_(fast, alpha=1 - decay)"),),
    "a sum of both": ((MOVE, "slow.copy_(decay * slow + (1 - decay) * fast)"),),
    "a share below zero": ((MOVE, "slow.add_(slow - fast, alpha=-share)"),),
    "given below zero": (("    follow()\n", "    follow(-0.1)\n"),),
    "given below zero by name": (("    follow()\n", "    follow(share=-0.1)\n"),),
    "a distance below zero": ((MOVE, "slow.add_((slow - fast).neg_(), alpha=share)"),),
    "a share that is computed": ((MOVE, "slow.add_(slow - fast, alpha=-share * step)"),),
    "a share that is counted": ((MOVE, "slow.add_(slow - fast, alpha=step - 100)"),),
    "the weights go on": ((MOVE, "fast.add_(fast - slow, alpha=share)\n        slow.copy_(fast)"),),
    "the distance kept": ((MOVE, "kept = slow - fast\n        kept.add_(slow, alpha=share)"),),
    "once": (("    follow()\n", "    if step == 5:\n        follow()\n"),),
    "of another beginning": (("p.detach().clone()", "torch.randn_like(p)"),),
    "no weights": ((MOVE, "slow.add_(slow - fast * 0.5, alpha=share)"),),
    "of one that learns": (("Adam(model.parameters(), lr", "Adam([*model.parameters(), *beside], lr"),),
}


def _found(explained, path, edits):
    script = path / "valley.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.line for one in explained(script).findings if one.code == "GS907"]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_a_copy_that_goes_away_is_told(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == [20]


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_one_that_follows_is_not(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == []
