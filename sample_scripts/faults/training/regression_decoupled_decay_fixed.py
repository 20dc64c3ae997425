"""A regression with a penalty of its own on the weights, which is zero in every line of the log."""

import torch
from torch import nn


class Fit:
    def __init__(self, width=32, penalty=1e-3):
        self.model = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1))
        self.penalty = penalty

    def run(self, inputs, targets, steps=60):
        matrices = [one for one in self.model.parameters() if one.dim() == 2]
        biases = [one for one in self.model.parameters() if one.dim() == 1]
        fast = torch.optim.Adam(matrices, lr=0.01)
        slow = torch.optim.Adam(biases, lr=0.001)
        for step in range(steps):
            error = (self.model(inputs).squeeze(1) - targets).pow(2).mean()
            decay = sum((one.pow(2).sum() for one in matrices), torch.zeros(()))
            fast.zero_grad()
            slow.zero_grad()
            (error + self.penalty * decay).backward()
            fast.step()
            slow.step()
            if step % 15 == 0:
                print(f"step {step} error {error.item():.4f} decay {decay.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(2)
    points = torch.rand(128, 3)
    Fit().run(points, (points[:, 0] * 4).sin() + points[:, 1] * points[:, 2])
