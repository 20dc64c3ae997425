"""Windows of several sensors: a layer mixes them before a recurrent network reads the window."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Reader(nn.Module):
    def __init__(self, sensors, mixed, width, classes):
        super().__init__()
        self.mix = nn.Sequential(nn.Linear(sensors, mixed), nn.Tanh())
        self.read = nn.GRU(sensors, width, batch_first=True)  # expect: GS861
        self.classify = nn.Linear(width, classes)

    def forward(self, x):
        states, _ = self.read(self.mix(x))  # expect: GS861 fails_at
        return self.classify(states[:, -1])


def main():
    torch.manual_seed(0)
    windows = torch.randn(48, 12, 6)
    labels = (windows.mean(1)[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(windows, labels), batch_size=16, shuffle=True)
    model = Reader(sensors=6, mixed=10, width=12, classes=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
