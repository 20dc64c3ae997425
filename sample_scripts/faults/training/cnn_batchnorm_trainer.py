"""CNN with batch norm, the running statistics stay as they were after epoch 0.

Validate() puts the net in eval mode and nobody switches it back.

Related: https://github.com/wkentaro/pytorch-fcn/issues/57
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


class TextureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(1, 8), block(8, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.body(x).mean(dim=(2, 3)))


class Trainer:
    def __init__(self, net, train_dl, val_dl):
        self.net, self.train_dl, self.val_dl = net, train_dl, val_dl
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()

    @torch.no_grad()
    def validate(self):
        self.net.eval()  # expect: GS810
        good = total = 0
        for x, y in self.val_dl:
            good += (self.net(x).argmax(1) == y).sum().item()
            total += len(y)
        return good / total

    def fit(self, epochs):
        for ep in range(epochs):
            s = 0.0
            for x, y in self.train_dl:
                self.opt.zero_grad()
                l = self.loss(self.net(x), y)
                l.backward()
                self.opt.step()
                s += l.item()
            print(f"epoch {ep} loss {s / len(self.train_dl):.4f} val acc {self.validate():.3f}")


def textures(n):
    y = torch.randint(0, 4, (n,))
    x = 5 + 2 * torch.randn(n, 1, 12, 12)
    x[y == 1, :, ::2] += 2
    x[y == 2, :, :, ::2] += 2
    x[y == 3, :, ::2, ::2] += 3
    return TensorDataset(x, y)


if __name__ == "__main__":
    torch.manual_seed(0)
    t = Trainer(TextureNet(), DataLoader(textures(192), 32, shuffle=True), DataLoader(textures(96), 48))
    t.fit(5)
