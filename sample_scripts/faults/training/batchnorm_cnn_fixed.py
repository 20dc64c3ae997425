"""Trainer class for a CNN with BatchNorm whose validation data come sorted by class.

The validation runs in train mode, uses batch statistics and even updates the running ones.

Same question in https://github.com/nshaud/DeepHyperX/issues/51
"""

import torch
import torch.nn.functional as F
from torch import nn


class ConvBN(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 8, 3, padding=1)
        self.b2 = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.relu(self.b2(self.c2(x)))
        return self.fc(x.mean((2, 3)))


def brightness_data(n, sort=False):
    y = torch.randint(0, 3, (n,))
    if sort:
        y = y.sort().values
    x = torch.randn(n, 1, 10, 10) * (0.5 + 0.5 * y[:, None, None, None])
    return x, y


class Trainer:
    def __init__(self, model, train_data, val_data, lr=0.01):
        self.model = model
        self.train_data, self.val_data = train_data, val_data
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.model.train()

    def train_epoch(self, bs=32):
        self.model.train()
        x, y = self.train_data
        for idx in torch.randperm(len(x)).split(bs):
            loss = F.cross_entropy(self.model(x[idx]), y[idx])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, bs=24):
        self.model.eval()
        hits = 0
        for x, y in zip(*(t.split(bs) for t in self.val_data), strict=False):
            logits = self.model(x)
            hits += (logits.argmax(1) == y).sum().item()
        return hits / len(self.val_data[1])


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer(ConvBN(), brightness_data(160), brightness_data(120, sort=True))
    for epoch in range(6):
        loss = trainer.train_epoch()
        print(f"epoch {epoch}: loss {loss:.4f}, val acc {trainer.validate():.3f}")
