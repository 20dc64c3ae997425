"""A source model's encoder stays frozen for the first epochs, and is to join in afterwards."""
# as in https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18

import torch
from torch import nn
from torch.nn import functional as F


class Tagger(nn.Module):
    def __init__(self, width=24, tags=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.tags = nn.Linear(width, tags)

    def forward(self, x):
        return self.tags(self.encoder(x))


def hold(part):
    for p in part.parameters():
        p.requires_grad = False


def release(part):
    part.requires_grad_(True)


def main():
    torch.manual_seed(0)
    model = Tagger()
    x = torch.randn(256, 6)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] * x[:, 2] > 0).long()
    hold(model.encoder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(6):
        if epoch == 2:
            release(model.encoder)
        for start in range(0, len(x), 64):
            loss = F.cross_entropy(model(x[start : start + 64]), y[start : start + 64])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
