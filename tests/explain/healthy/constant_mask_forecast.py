"""Forecaster whose elementwise loss is masked by the same mask in each batch, so its mean has a constant scale."""

import torch
import torch.nn.functional as F
from torch import nn

LENGTH, WARMUP = 24, 8


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0])


def series(n):
    t = torch.arange(LENGTH + 1)
    freq = 0.2 + 0.6 * torch.rand(n, 1)
    x = torch.sin(freq * t + 6.28 * torch.rand(n, 1)) + 0.05 * torch.randn(n, LENGTH + 1)
    return x[:, :-1, None], x[:, 1:, None]


def main():
    torch.manual_seed(0)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    # the first steps are there for the state to form, they have no part in the loss
    mask = (torch.arange(LENGTH) >= WARMUP).float()[None, :, None]
    for step in range(1, 61):
        x, y = series(64)
        loss = (F.mse_loss(model(x), y, reduction="none") * mask).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
