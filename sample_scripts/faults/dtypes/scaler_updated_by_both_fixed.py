"""Mixed precision behind a small class, whose user updates the scaler as well.

As in https://github.com/huggingface/accelerate/issues/357.
"""

import torch
from torch import nn


class Mixed:
    def __init__(self, optimizer):
        self.optimizer, self.scaler = optimizer, torch.amp.GradScaler("cpu")

    def step(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def main():
    torch.manual_seed(0)
    model = nn.Linear(6, 2)
    mixed = Mixed(torch.optim.SGD(model.parameters(), lr=0.1))
    for step in range(10):
        x = torch.randn(16, 6)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x).float(), (x[:, 0] > 0).long())
        mixed.step(loss)
        print(f"{step}: {loss.item():.4f}")


main()
