"""LSTM load forecast with our own smooth loss, every forecast is the same number.

Prediction [N, 1] minus target [N] in the loss gives an N x N matrix.

Related: https://github.com/jsboige/CoursIA/pull/926
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LoadForecast(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, seq):
        _out, (h, _c) = self.lstm(seq)
        return self.head(h[-1])


class SmoothLoss(nn.Module):
    def __init__(self, delta=1.0):
        super().__init__()
        self.delta = delta

    def forward(self, pred, target):
        diff = torch.abs(pred - target)  # expect: GS808 computed_at
        small = 0.5 * diff**2
        big = self.delta * (diff - 0.5 * self.delta)
        return torch.where(diff < self.delta, small, big).mean()


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.loss_fn = SmoothLoss()
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def fit(self, epochs):
        for e in range(epochs):
            run = 0.0
            for seq, load in self.loader:
                self.opt.zero_grad()
                loss = self.loss_fn(self.model(seq), load)  # expect: GS808
                loss.backward()
                self.opt.step()
                run += loss.item()
            print(f"epoch {e} loss {run / len(self.loader):.4f}")


def fake_load(n=192, length=12):
    level = torch.randn(n, 1) * 1.5
    hour = torch.rand(n, 1) * 6.28 + torch.arange(length) * 0.26
    load = level + torch.sin(hour) + 0.1 * torch.randn(n, length)
    return torch.stack([load, torch.cos(hour)], dim=-1), load[:, -1] + 0.2


if __name__ == "__main__":
    torch.manual_seed(0)
    dl = DataLoader(TensorDataset(*fake_load()), batch_size=32, shuffle=True)
    Trainer(LoadForecast(), dl).fit(5)
