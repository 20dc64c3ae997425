"""CNN trainer that also logs the gradient norm on the validation set.

Validate() calls backward for the norm and leaves those gradients for the next train step.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=5e-3)
        self.ce = nn.CrossEntropyLoss()

    def train_epoch(self, loader):
        self.net.train()
        tot = 0.0
        for x, y in loader:
            loss = self.ce(self.net(x), y)
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
            tot += loss.item()
        return tot / len(loader)

    def validate(self, loader):
        self.net.eval()
        tot = 0.0
        for x, y in loader:
            val_loss = self.ce(self.net(x), y)
            val_loss.backward()
            tot += val_loss.item()
        norm = sum(p.grad.norm() ** 2 for p in self.net.parameters()) ** 0.5
        self.opt.zero_grad()
        return tot / len(loader), norm.item()


def stripes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.4 * torch.randn(n, 1, 12, 12)
    x[y == 0, :, ::3, :] += 1.0
    x[y == 1, :, :, ::3] += 1.0
    return TensorDataset(x, y)


if __name__ == "__main__":
    torch.manual_seed(0)
    train_dl = DataLoader(stripes(160), batch_size=32, shuffle=True)
    val_dl = DataLoader(stripes(64), batch_size=32)
    t = Trainer(SmallCNN())
    for epoch in range(4):
        tr = t.train_epoch(train_dl)
        va, gn = t.validate(val_dl)
        print(f"epoch {epoch}: train {tr:.4f} val {va:.4f} val grad norm {gn:.4f}")
