"""A pretrained backbone that was to stay as it is while a new head learns."""
# as in https://github.com/mattiadutto/ProtoContra-SFDA/issues/18

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, points, labels, steps, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        idx = torch.randint(0, len(points), (32,))
        loss = F.cross_entropy(model(points[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    points = torch.randn(256, 5)
    model = Net(4)
    print("pretrained", fit(model, points, (points[:, 0] > 0).long() + 2 * (points[:, 1] > 0), 40, 0.01))
    before = model.backbone[0].weight.detach().clone()
    model.head = nn.Linear(16, 2)
    model.backbone.requires_grad_(False)
    print("finetuned", fit(model, points, (points.sum(1) > 0).long(), 40, 0.01))
    print("the backbone moved by", (model.backbone[0].weight - before).norm().item())


if __name__ == "__main__":
    main()
