"""A small digit classifier: two convolutions, and one layer over what is left."""
# as in https://androidkt.com/fix-runtimeerror-mat1-and-mat2-shapes-cannot-be-multiplied/

import torch
from torch import nn


class Digits(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 4, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.second = nn.Sequential(nn.Conv2d(4, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.scores = nn.Linear(8 * 5 * 5, classes)  # expect: GS861

    def forward(self, x):
        x = self.second(self.first(x))
        x = x.view(x.size(0), -1)
        return self.scores(x)  # expect: GS861 fails_at


def main():
    torch.manual_seed(0)
    model = Digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(8):
        labels = torch.randint(0, 10, (16,))
        pictures = torch.rand(16, 1, 28, 28) + labels[:, None, None, None] / 10
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
