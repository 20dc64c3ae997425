"""A small convolutional network, whose flattened size was computed with one pooling too few."""
# as in http://www.wenzhangge.com/post/28944.html

import torch
from torch import nn


class Kinds(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.scores = nn.Linear(8 * 4 * 4, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.first(x)))
        x = self.pool(torch.relu(self.second(x)))
        x = x.view(x.size(0), -1)
        return self.scores(x)


def main():
    torch.manual_seed(0)
    model, criterion = Kinds(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        labels = torch.randint(0, 3, (8,))
        pictures = torch.randn(8, 1, 16, 16) + labels[:, None, None, None]
        optimizer.zero_grad()
        loss = criterion(model(pictures), labels)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
