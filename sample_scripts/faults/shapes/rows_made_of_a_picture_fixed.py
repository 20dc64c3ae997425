"""A classifier of four kinds of pictures, resized, pooled and flattened."""
# as in http://www.wenzhangge.com/post/28999.html

import torch
from torch import nn


class Kinds(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Linear(4 * 16 * 16, classes)

    def forward(self, x):
        x = self.body(x)
        x = x.flatten(1)
        return self.classify(x)


def main():
    torch.manual_seed(0)
    model, criterion = Kinds(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        labels = torch.randint(0, 4, (8,))
        pictures = torch.rand(8, 3, 32, 32) + labels[:, None, None, None] / 4
        loss = criterion(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
