"""A load forecaster is trained for a region, and adapted to a town with the settings of a second stage.

As in https://github.com/pytorch/ao/pull/1124.
"""

import torch
from torch import nn

STAGES = (
    {"steps": 30, "rate": 3e-3, "dtype": torch.float32},
    {"steps": 40, "rate": 5e-5, "dtype": torch.float32},
)


class Forecaster(nn.Module):
    def __init__(self, hours=24, width=48):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(hours, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, 1)

    def forward(self, past):
        return self.last(self.norm(self.layers(past)))


def train(model, weights, stage):
    model.to(stage["dtype"])  # expect: GS823
    optimizer = torch.optim.Adam(model.parameters(), lr=stage["rate"])  # expect: GS823 declared_at
    for _ in range(stage["steps"]):
        past = torch.rand(64, 24)
        following = past @ weights
        predicted = model(past.to(stage["dtype"])).float()
        loss = nn.functional.mse_loss(predicted.squeeze(1), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    model = Forecaster()
    region = torch.linspace(0, 0.2, 24)
    for stage, weights in zip(STAGES, (region, region.flip(0)), strict=True):
        print(f"{stage['dtype']}: loss {train(model, weights, stage):.4f}")


main()
