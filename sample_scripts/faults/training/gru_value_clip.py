"""GRU forecasting a noisy sine with mixed precision and clip_grad_value_(0.5).

The values are clipped while they still carry the loss scale.
"""

import math

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, h=20):
        super().__init__()
        self.gru = nn.GRU(1, h, batch_first=True)
        self.lin = nn.Linear(h, 1)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.lin(out[:, -1]).squeeze(-1)


def windows(n=128, T=20):
    phase = torch.rand(n, 1) * 2 * math.pi
    t = torch.arange(T + 1) * 0.4
    s = torch.sin(phase + t) + 0.05 * torch.randn(n, T + 1)
    return s[:, :T, None], s[:, T]


def train(model, x, y, steps=30, bs=32):
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
    for k in range(steps):
        idx = torch.randint(0, len(x), (bs,))
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        scaler.scale(loss).backward()
        nn.utils.clip_grad_value_(model.parameters(), clip_value=0.5)  # expect: GS821
        scaler.step(opt)
        scaler.update()
        if k % 10 == 9:
            print(f"step {k + 1}: mse {loss.item():.4f} (scale {scaler.get_scale():.0f})")


def main():
    torch.manual_seed(0)
    x, y = windows()
    model = Forecaster()
    train(model, x, y)
    with torch.no_grad():
        print("full mse", nn.functional.mse_loss(model(x), y).item())


main()
