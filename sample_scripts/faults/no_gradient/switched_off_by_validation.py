"""Validation switches gradients off and never on again."""

import torch
from torch import nn


def validate(model, x):
    torch.set_grad_enabled(False)  # expect: GS723
    model.eval()
    return model(x).mean().item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        model.train()
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.randn(2, 4)).pow(2).mean()
            loss.backward()  # expect: GS723 fails_at
            optimizer.step()
        validate(model, torch.randn(2, 4))


main()
