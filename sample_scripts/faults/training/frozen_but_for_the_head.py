"""Pictures are told apart by a pretrained encoder with a new head; what is not the head is frozen by its name.

As in https://github.com/pytorch/pytorch/issues/86590.
"""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.encoder(x).flatten(1))


def freeze(model):
    for name, parameter in model.named_parameters():
        if not name.startswith("head"):
            parameter.requires_grad_(False)  # expect: GS872 declared_at


def main():
    torch.manual_seed(0)
    model = Net()
    freeze(model)
    optimizer = torch.optim.Adam(model.head.parameters())
    for _ in range(5):
        model.train()  # expect: GS872
        for _ in range(4):
            loss = nn.functional.cross_entropy(model(torch.randn(8, 1, 6, 6)), torch.randint(3, (8,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 1, 6, 6))
    print(f"{loss.item():.3f}")


main()
