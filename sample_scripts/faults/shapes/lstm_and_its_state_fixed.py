"""Classifies short sequences by what an LSTM makes of them."""
# as in https://github.com/PIX2NVS/NVS2Graph/issues/12

import torch
from torch import nn


class Readings(nn.Module):
    def __init__(self, sensors, width=16):
        super().__init__()
        self.lstm = nn.LSTM(sensors, width, batch_first=True)
        self.head = nn.Linear(8 * width, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        out = out.reshape(x.size(0), -1)
        return self.head(out)


def main():
    torch.manual_seed(0)
    model = Readings(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(10):
        x = torch.randn(16, 8, 3)
        loss = nn.functional.cross_entropy(model(x), (x.mean((1, 2)) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
