"""A translator of styles and a judge of them: both optimizers are cleared on top of the loop, the judge once more."""

import torch
from torch import nn

# As in https://github.com/Lightning-AI/pytorch-lightning/issues/557.

torch.manual_seed(0)
translate = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))
judge = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 1))
translates = torch.optim.SGD(translate.parameters(), lr=0.02)
judges = torch.optim.SGD(judge.parameters(), lr=0.02)
for _ in range(7):
    source, style = torch.randn(24, 6), torch.randn(24, 6) * 0.5 + 1
    translates.zero_grad()
    judges.zero_grad()
    drawn = translate(source)
    fooled = (judge(drawn) - 1).square().mean()
    fooled.backward()
    translates.step()

    seen = (judge(style) - 1).square().mean() + judge(drawn.detach()).square().mean()
    judges.zero_grad()
    seen.backward()
    judges.step()
