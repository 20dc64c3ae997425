"""Prices of flats: the table of districts comes from a survey and is frozen, and no optimizer holds it.

As in https://code-examples.net/en/q/4c0bc7c/bypassing-stateful-optimizers-selective-parameter-training-in-pytorch-via-gradient-masking.
"""

import torch
from torch import nn

DISTRICTS, SIZES = 12, 3


class Prices(nn.Module):
    def __init__(self, survey):
        super().__init__()
        self.districts = nn.Parameter(survey.clone())
        self.score = nn.Sequential(nn.Linear(6 + SIZES, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, district, sizes):
        return self.score(torch.cat((self.districts[district], sizes), 1)).squeeze(1)


def main():
    torch.manual_seed(0)
    model, worth = Prices(torch.randn(DISTRICTS, 6)), torch.randn(DISTRICTS)
    model.districts.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.score.parameters(), lr=3e-3, weight_decay=0.1)
    for step in range(36):
        district, sizes = torch.randint(0, DISTRICTS, (48,)), torch.rand(48, SIZES)
        loss = nn.functional.mse_loss(model(district, sizes), worth[district] + sizes.sum(1))
        model.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 9 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
