"""A classifier of small pictures."""

import torch
from data import batches
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 24), nn.Linear(24, 3)

    def forward(self, pixels):
        hidden = nn.functional.relu(self.first(pixels))
        return self.last(hidden)


def main():
    torch.manual_seed(1)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step, (pixels, labels) in enumerate(batches(10)):
        loss = nn.functional.cross_entropy(model(pixels), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
