"""After a common model is trained, low-rank corrections are added, and a helper zeroes all of them. As in https://github.com/Lightning-AI/litgpt/issues/1229."""

import torch
from torch import nn


def quiet(module):
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    return module


class Correction(nn.Module):
    def __init__(self, groups, width, rank=2):
        super().__init__()
        self.inward = nn.Parameter(torch.randn(groups, width, rank) / width**0.5)
        self.outward = nn.Parameter(torch.randn(groups, rank, 1))

    def forward(self, hidden, group):
        return torch.bmm(torch.bmm(hidden[:, None], self.inward[group]), self.outward[group]).flatten()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out, self.correction = nn.Linear(4, 16), nn.Linear(16, 1), None

    def forward(self, x, group):
        hidden = torch.tanh(self.hidden(x))
        out = self.out(hidden).flatten()
        return out if self.correction is None else out + self.correction(hidden, group)


def fit(model, parameters, steps):
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(steps):
        x, group = torch.randn(64, 4), torch.randint(0, 3, (64,))
        target = x[:, 0] + (group - 1) * x[:, 1]
        loss = (model(x, group) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Model()
    first = fit(model, model.parameters(), 70)
    model.requires_grad_(False)
    model.correction = Correction(3, 16)
    nn.init.zeros_(model.correction.outward)
    print(f"{first:.3f} {fit(model, model.correction.parameters(), 60):.3f}")
