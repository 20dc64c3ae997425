"""GS889 before the softmax: only a mask that is to hide, and does not, is told."""

import pytest

PROGRAM = '''"""A crew is judged by an attention over its members, of whom some are on leave."""

import torch
from torch import nn

torch.manual_seed(0)
embed, score, head = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*embed.parameters(), *score.parameters(), *head.parameters()], lr=3e-3)
for _ in range(6):
    crew, there = torch.randn(16, 7, 4), torch.arange(7) < torch.randint(3, 7, (16, 1))
    h = torch.tanh(embed(crew))
    scores = score(h).squeeze(2)
    scores = {scores}
    weights = scores.softmax(1)
    told = {told}
    loss = nn.functional.mse_loss(head(told), crew[:, :1, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
SUMMED = "(weights.unsqueeze(2) * h).sum(1)"
FAULT = {"scores": "scores * there", "told": SUMMED}
FAULTS = {
    "by truth": {},
    "by numbers": {"scores": "scores * there.float()"},
    "turned around": {"scores": "scores * (1 - (~there).float())"},
    "chosen": {"scores": "torch.where(there, scores, torch.zeros_like(scores))"},
    "filled": {"scores": "scores.masked_fill(~there, value=0)"},
    "scaled behind": {"scores": "(scores * there) / 2"},
    "behind a bend": {"scores": "nn.functional.leaky_relu(scores + h[..., 0]) * there"},
    "as matrices": {"told": "torch.bmm(weights.unsqueeze(1), h).squeeze(1)"},
    "with data added up": {"told": "torch.einsum('bp,bpd->bd', weights, crew).repeat(1, 2)"},
}
SILENT = {
    "hidden": {"scores": "scores.masked_fill(~there, float('-inf'))"},
    "hidden by far": {"scores": "scores.masked_fill(~there, -1e9)"},
    "filled by a name": {"scores": "scores.masked_fill(~there, scores.min().item())"},
    "hidden behind as well": {"told": "(nn.functional.normalize(weights * there, 1, 1).unsqueeze(2) * h).sum(1)"},
    "divided behind": {"told": f"{SUMMED} / (weights * there).sum(1, keepdim=True)"},
    "values that are hidden": {"told": "(weights.unsqueeze(2) * h * there.unsqueeze(2)).sum(1)"},
    "lowered as well": {"scores": "scores * there - 1e9 * (~there)"},
    "hidden before": {"scores": "scores.masked_fill(~there, -1e9) * (torch.arange(7) > 0)"},
    "a factor": {"scores": "scores * 0.5"},
    "a gate": {"scores": "scores * crew[..., 0].sigmoid()"},
    "weights of data": {"scores": "scores * (1 + there.float())"},
    "one for all members": {"scores": "scores * (crew[:, :1, 0] > 0)"},
    "one for all members repeated": {"scores": "scores * (crew[:, :1, 0] > 0).expand(16, 7)"},
    "by chance": {"scores": "scores * (torch.rand(16, 7) > 0.1)"},
    "by what is learned": {"scores": "scores * (scores > 0)"},
    "that hides nothing": {"scores": "scores * torch.ones(16, 7, dtype=torch.bool)"},
    "of a linear loss": {"told": "h[:, 0] + (weights * crew[..., 0]).mean()"},
    "over the rows": {"scores": "scores * (crew[0, :, 0] > 0)", "told": "(scores.softmax(0).unsqueeze(2) * h).sum(1)"},
}


def _told(explained, tmp_path, changes):
    script = tmp_path / "crew.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    return [one.site.line for one in explained(script).findings if one.code == "GS889"]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_scores_that_are_zero_have_a_share(explained, tmp_path, changes):
    assert _told(explained, tmp_path, changes) == [13]


@pytest.mark.parametrize("changes", SILENT.values(), ids=SILENT)
def test_scores_are_hidden_or_weighed(explained, tmp_path, changes):
    assert _told(explained, tmp_path, changes) == []
