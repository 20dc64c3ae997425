"""Made-up tides: a maker and a judge whose losses go through one helper, which clears what it has stepped.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/591.
"""

import torch
from torch import nn
from torch.nn.functional import softplus


def learn(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    torch.manual_seed(0)
    maker, judge = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    maker_optimizer = torch.optim.Adam(maker.parameters(), lr=2e-3)
    judge_optimizer = torch.optim.Adam(judge.parameters(), lr=2e-3)
    for step in range(30):
        real = torch.sin(torch.rand(48, 1) * 6 + torch.arange(6.0))
        made = maker(torch.randn(48, 4))
        verdict = softplus(-judge(real)).mean() + softplus(judge(made.detach())).mean()
        learn(verdict, judge_optimizer)
        learn(softplus(-judge(made)).mean(), maker_optimizer)
        if step % 10 == 0:
            print(f"{step}: {verdict.item():.4f}")


main()
