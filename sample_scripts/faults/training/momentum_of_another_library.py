"""A small network ported from another library, its settings taken over as they stood."""
# as in https://github.com/pytorch/vision/issues/8250

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, bias=False)
        self.norm = nn.BatchNorm2d(width, momentum=0.99, eps=1e-3)  # expect: GS865
        self.classify = nn.Linear(width, 3)

    def forward(self, x):
        return self.classify(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def main():
    torch.manual_seed(0)
    model = Net()
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
