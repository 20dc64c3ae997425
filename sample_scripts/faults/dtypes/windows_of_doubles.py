"""Forecasts a load from windows of a series that numpy made."""
# as in https://openillumi.com/en/en-pytorch-double-expected-float-fix

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length=12):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, start):
        end = start + self.length
        window = torch.from_numpy(self.series[start:end]).unsqueeze(-1)  # expect: GS864
        return {"window": window, "next": torch.tensor(self.series[end], dtype=torch.float32)}


class Forecast(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.read = nn.GRU(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        _, state = self.read(x)  # expect: GS864 fails_at
        return self.head(state[-1]).squeeze(-1)


def fit(model, loader, optimizer, device="cpu"):
    for number, batch in enumerate(loader):
        window, target = batch["window"].to(device), batch["next"].to(device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(window), target)
        loss.backward()
        optimizer.step()
    print(f"batch {number} loss {loss.item():.3f}")


def main():
    torch.manual_seed(0)
    series = np.sin(np.arange(120) / 5) + 0.1 * np.random.default_rng(0).normal(size=120)
    model = Forecast()
    fit(model, DataLoader(Windows(series), batch_size=24, shuffle=True), torch.optim.Adam(model.parameters(), lr=1e-2))


if __name__ == "__main__":
    main()
