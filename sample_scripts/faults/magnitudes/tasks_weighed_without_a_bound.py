"""Two tasks are weighed by learned weights, which grow until a step is too long. As in https://github.com/openai/CLIP/pull/530."""

import torch
from torch import nn


class Weighed(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.logs = nn.Parameter(torch.zeros(tasks))

    def forward(self, losses):
        logs = self.logs
        weights = torch.exp(logs)  # expect: GS764
        return (weights * losses - logs).sum()


if __name__ == "__main__":
    torch.manual_seed(0)
    model, weighed = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2)), Weighed(2)
    optimizer = torch.optim.SGD([*model.parameters(), *weighed.parameters()], lr=0.03, momentum=0.9)
    for _ in range(200):
        x = torch.randn(64, 3)
        target = torch.stack([x[:, 0], x.sum(1) / 2], 1) / 2
        loss = weighed((model(x) - target).square().mean(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.1f}")
