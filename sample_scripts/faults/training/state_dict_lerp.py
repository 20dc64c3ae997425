"""CNN with averaged weights for the evaluation, averaged from a state_dict() taken at the start.

State_dict returns references, so the average always equals the model.

state_dict holds references: https://github.com/pytorch/pytorch/pull/83104
"""

import torch
import torch.nn.functional as F
from torch import nn


def make_net():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 12, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, 2),
    )


def stripes(n):
    y = torch.randint(0, 2, (n,))
    line = (torch.arange(10) % 2).float() * 2 - 1
    horiz = line[:, None].expand(10, 10)
    x = torch.where(y[:, None, None] == 1, horiz, horiz.t()) + 1.5 * torch.randn(n, 10, 10)
    return x[:, None], y


def update_average(avg, net, decay):
    with torch.no_grad():
        for k, v in net.state_dict().items():
            if v.dtype.is_floating_point:
                avg[k].lerp_(v, 1 - decay)  # expect: GS831 edited_at


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


def main():
    torch.manual_seed(0)
    x, y = stripes(160)
    xv, yv = stripes(200)
    net = make_net()
    avg = dict(net.state_dict())  # expect: GS831
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    for epoch in range(5):
        for i in range(0, 160, 32):
            loss = F.cross_entropy(net(x[i : i + 32]), y[i : i + 32])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_average(avg, net, decay=0.9)
        print(f"epoch {epoch} loss {loss.item():.4f} val acc {evaluate(net, xv, yv):.3f}")
    final = make_net()
    final.load_state_dict(avg)
    print("averaged net, val acc", round(evaluate(final, xv, yv), 3))


if __name__ == "__main__":
    main()
