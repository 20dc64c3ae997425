"""A detector of a rare kind of signal, trained on one score for each window."""

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.convolve = nn.Conv1d(1, width, 5, padding=2)
        self.score = nn.Linear(width, 1)

    def forward(self, x):
        return self.score(torch.relu(self.convolve(x)).mean(-1)).squeeze(1)


def windows(count):
    labels = torch.randint(0, 2, (count,)).float()
    return torch.randn(count, 1, 40) + labels[:, None, None], labels


def main():
    torch.manual_seed(0)
    model = Detector()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(8):
        x, labels = windows(16)
        loss = criterion(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
