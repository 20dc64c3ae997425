"""Pose heat-map regressor, one loop over the phases train and valid.

https://github.com/princeton-vl/pytorch_stacked_hourglass/issues/44
"""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm1d(c), nn.BatchNorm1d(c)
        self.fc1, self.fc2 = nn.Linear(c, c), nn.Linear(c, c)

    def forward(self, x):
        h = self.fc1(torch.relu(self.bn1(x)))
        return x + self.fc2(torch.relu(self.bn2(h)))


class Hourglass(nn.Module):
    def __init__(self, dim=20, c=32, joints=6):
        super().__init__()
        self.stem = nn.Linear(dim, c)
        self.blocks = nn.Sequential(Residual(c), Residual(c))
        self.head = nn.Linear(c, joints)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class PoseData:
    def __init__(self, seed=0, dim=20, joints=6):
        self.g = torch.Generator().manual_seed(seed)
        self.w = torch.randn(dim, joints, generator=self.g) / dim**0.5

    def batch(self, phase, n=48):
        x = torch.randn(n, self.w.shape[0], generator=self.g)
        if phase == "valid":
            x = x * 0.4 + 2.0
        y = torch.sin(x @ self.w)
        return x, y


def do_train(net, optimizer, data, iters):
    loss_fn = nn.MSELoss()
    for epoch in range(iters["epochs"]):
        for phase in ("train", "valid"):
            net.train()  # expect: GS811
            total = 0.0
            for _ in range(iters[phase]):
                x, y = data.batch(phase)
                with torch.set_grad_enabled(phase == "train"):
                    loss = loss_fn(net(x), y)
                if phase == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                total += loss.item()
            print(f"epoch {epoch} {phase} loss {total / iters[phase]:.4f}")


@torch.no_grad()
def test(net, data):
    net.eval()
    x, y = data.batch("train", 512)
    return nn.functional.mse_loss(net(x), y).item()


def main():
    torch.manual_seed(0)
    data = PoseData()
    net = Hourglass()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    do_train(net, optimizer, data, {"epochs": 4, "train": 12, "valid": 10})
    print(f"test loss {test(net, data):.4f}")


if __name__ == "__main__":
    main()
