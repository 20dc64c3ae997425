"""Windows of a series are cut into patches; the batch is 16, as the settings say."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    batch: int = 16
    patch: int = 6
    width: int = 12


class Patches(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.embed = nn.Linear(settings.patch, settings.width)
        self.forecast = nn.Linear(settings.width, 1)

    def forward(self, x):
        patches = x.view(self.settings.batch, -1, self.settings.patch)  # expect: GS867
        return self.forecast(torch.tanh(self.embed(patches)).mean(1)).squeeze(1)


def main():
    torch.manual_seed(0)
    settings = Settings()
    series = torch.sin(torch.arange(101) / 5) + 0.1 * torch.randn(101)
    windows = series.unfold(0, 25, 1)
    loader = DataLoader(TensorDataset(windows[:, :24], windows[:, 24]), batch_size=settings.batch, shuffle=True)
    model = Patches(settings)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
