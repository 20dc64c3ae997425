"""Grain sizes by a trainer of two stages, whose second keeps what the first has learned, and clears by hand.

As in https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740.
"""

import torch
from torch import nn


class Sizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU())
        self.rest = nn.Sequential(nn.Flatten(), nn.Linear(8 * 16, 1))

    def forward(self, signal):
        return self.rest(self.filters(signal)).squeeze(1)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def clear(self):
        for weight in self.model.parameters():
            if weight.grad is not None:
                weight.grad.zero_()

    def run(self, batches):
        for signal, size in batches:
            self.clear()
            loss = (self.model(signal) - size).pow(2).mean()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def second_stage(self):
        self.model.filters.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.model.rest.parameters(), lr=5e-3)


def batches(count):
    for _ in range(count):
        size = torch.rand(16)
        yield torch.randn(16, 1, 20) * 0.1 + size.view(-1, 1, 1), size


def main():
    torch.manual_seed(0)
    trainer = Trainer(Sizer())
    print(f"{trainer.run(batches(20)):.4f}")
    trainer.second_stage()
    print(f"{trainer.run(batches(20)):.4f}")


main()
