"""Features of pictures, normalised with what a paper calls a momentum of 0.9."""

import torch
from torch import nn


class Features(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, width),
            nn.BatchNorm1d(width, momentum=0.1),
            nn.Tanh(),
        )
        self.classify = nn.Linear(width, 3)

    def forward(self, x):
        return self.classify(self.layers(x))


def main():
    torch.manual_seed(0)
    model = Features()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(8):
        labels = torch.randint(0, 3, (12,))
        pictures = torch.rand(12, 1, 8, 8) + labels[:, None, None, None] / 3
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
