"""A norm is folded into the layer before it after training; then LBFGS learns a temperature in a closure.

The folded weights are read, and derived once to choose what a smaller model keeps; nobody means to train them.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
readings = torch.randn(128, 8)
kinds = readings[:, :3].argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm, self.out = nn.Linear(8, 24), nn.BatchNorm1d(24), nn.Linear(24, 3)

    def forward(self, x):
        return self.out(F.relu(self.norm(self.inner(x))))


def train(net, steps, lr):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(steps):
        rows = torch.randint(0, 128, (32,))
        loss = F.cross_entropy(net(readings[rows]), kinds[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


net = Net()
print(f"loss {train(net, 30, 5e-3):.4f}")
net.eval()
with torch.no_grad():
    scale = net.norm.weight / (net.norm.running_var + net.norm.eps).sqrt()
    net.inner.weight = nn.Parameter(net.inner.weight * scale[:, None])
    net.inner.bias = nn.Parameter((net.inner.bias - net.norm.running_mean) * scale + net.norm.bias)
    net.norm = nn.Identity()

temperature = nn.Parameter(torch.ones(()))
calibration = torch.optim.LBFGS([temperature], lr=0.02, max_iter=30)


def closure():
    calibration.zero_grad()
    loss = F.cross_entropy(net(readings).detach() / temperature, kinds)
    loss.backward()
    return loss


calibration.step(closure)
F.cross_entropy(net(readings), kinds).backward()
kept = (net.inner.weight * net.inner.weight.grad).abs().sum(1).topk(12).indices
small = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 3))
with torch.no_grad():
    small[0].weight.copy_(net.inner.weight[kept])
    small[0].bias.copy_(net.inner.bias[kept])
    small[2].weight.copy_(net.out.weight[:, kept])
    small[2].bias.copy_(net.out.bias)
print(f"loss {train(small, 20, 2e-3):.4f} temperature {temperature.item():.3f}")
