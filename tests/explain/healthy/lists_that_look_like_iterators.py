"""What is gone through twice gives its items again: a list made of it, what fnmatch.filter() returns, two branches."""

import fnmatch

import torch
from torch import nn


def norms(names, model):
    total = sum(model.get_parameter(name).grad.square().sum() for name in names)
    return [(model.get_parameter(name).grad.norm() / total.sqrt()).item() for name in names]


class Shares:
    def update(self, params):
        total = sum(one.numel() for one in params)
        self.shares = [one.numel() / total for one in params]


class Log:
    def update(self, pairs):
        self.last = dict(pairs)


def limit(given, most):
    params = list(given)
    total = float(sum(one.grad.square().sum() for one in params)) ** 0.5
    for one in params:
        one.grad.mul_(min(1.0, most / total))


def decay(params, rate):
    if not rate:
        return sum(one.numel() for one in params)
    with torch.no_grad():
        for one in params:
            one.mul_(1.0 - rate)
    return 0


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    sizes, log = Shares(), Log()
    for _ in range(12):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        shares = norms(fnmatch.filter([name for name, _ in model.named_parameters()], "*.weight"), model)
        limit(model.parameters(), 1.0)
        optimizer.step()
        sizes.update([one * 1 for one in model.parameters()])
        log.update(zip(("loss", "shares"), (loss.item(), shares), strict=True))
        decay(model.parameters(), 1e-4)
    print(f"loss {loss.item():.3f}", len(shares))


if __name__ == "__main__":
    main()
