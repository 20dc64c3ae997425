"""Learns the yield of a field, and goes back to the best weights so far where the weather has led it astray."""
# as in https://github.com/NVIDIA/Megatron-LM/issues/174

import copy

import torch
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.soil = nn.Linear(5, 12)
        self.crop = nn.Sequential(nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        return self.crop(self.soil(x))


class Season:
    def __init__(self):
        self.field = Field()
        self.optimizer = torch.optim.Adam(self.field.parameters(), lr=1e-2)
        self.best, self.lowest = None, float("inf")

    def remember(self, loss):
        if loss < self.lowest:
            self.best, self.lowest = copy.deepcopy(self.field.state_dict()), loss

    def go_back(self):
        self.field = Field()  # expect: GS727
        self.field.load_state_dict(self.best)

    def week(self, weather):
        loss = (self.field(weather) - weather.sum(1, keepdim=True)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()  # expect: GS727 fails_at
        return loss.item()


def main():
    torch.manual_seed(0)
    season = Season()
    for week in range(30):
        season.remember(season.week(torch.randn(16, 5)))
        if week == 12:
            season.go_back()
    print(f"lowest {season.lowest:.3f}")


if __name__ == "__main__":
    main()
