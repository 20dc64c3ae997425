"""Fine-tuning of a CNN with small batches.

The BatchNorm modules stay in eval() on purpose while everything else is in train mode.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(self.drop(x.mean((2, 3))))


def freeze_bn(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
            m.weight.requires_grad_(False)
            m.bias.requires_grad_(False)


def data(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 10, 10)
    x[:, :, 3:7, 3:7] += 1.5 * y[:, None, None, None]
    return x, y


def main():
    torch.manual_seed(0)
    x, y = data(128)
    xv, yv = data(64)
    model = Backbone()
    with torch.no_grad():  # statistics of the "pretraining"
        for _ in range(20):
            model(torch.randn(32, 1, 10, 10))
    optimizer = torch.optim.Adam([p for n, p in model.named_parameters() if "bn" not in n], lr=1e-2)
    for epoch in range(4):
        model.train()
        freeze_bn(model)
        for i in range(0, 128, 16):
            loss = F.cross_entropy(model(x[i : i + 16]), y[i : i + 16])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val acc {acc:.3f}")


main()
