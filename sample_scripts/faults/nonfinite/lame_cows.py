"""Milk yields from the collars of a herd, some of which have lost their signal; they are left out behind the encoder.

As in https://discuss.pytorch.org/t/gradients-contaminated-by-unused-inputs/135053.
"""

import torch
from torch import nn

COWS, HOURS = 8, 24


class Gait(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv = nn.Conv1d(1, width, 5, stride=2)
        self.out = nn.Linear(width, width)

    def forward(self, steps):
        seen = torch.relu(self.conv(steps.flatten(0, 1).unsqueeze(1)))
        return self.out(seen.mean(2)).unflatten(0, steps.shape[:2])


class Herd(nn.Module):
    def __init__(self):
        super().__init__()
        self.gait = Gait()
        self.head = nn.Linear(16, 1)

    def forward(self, steps):
        lost = steps.isnan().any(2, keepdim=True)
        gaits = self.gait(steps)  # expect: GS731
        gaits = gaits.masked_fill(lost, 0.0)  # expect: GS731 masked_by
        return self.head(gaits.sum(1) / (~lost).sum(1)).squeeze(1)


def main(days=40):
    torch.manual_seed(0)
    herd = Herd()
    optimizer = torch.optim.Adam(herd.parameters(), lr=1e-2)
    for day in range(days):
        steps = torch.randn(32, COWS, HOURS)
        milk = steps.mean((1, 2)) * 3 + 1
        if day > 25:
            steps[:, day % COWS, 9:14] = float("nan")
        loss = nn.functional.mse_loss(herd(steps), milk)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if day % 8 == 0:
            print(f"day {day}: {loss.item():.4f}")


main()
