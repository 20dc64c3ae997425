"""A regression learns its precision, until data of another site come. As in https://github.com/openai/CLIP/pull/530."""

import torch
from torch import nn


class Meter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 1)
        self.log_precision = nn.Parameter(torch.zeros(1))

    def loss(self, x, y):
        precision = self.log_precision.exp()  # expect: GS764
        error = (self.body(x).squeeze(1) - y).square()
        return (precision * error - precision.log()).mean() / 2


def batch(step):
    x = torch.randn(64, 3)
    other = 6.0 if step >= 90 else 1.0  # a site that was not seen before
    return other * x, x.sum(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    meter = Meter()
    optimizer = torch.optim.Adam(
        [{"params": meter.body.parameters(), "lr": 0.05}, {"params": [meter.log_precision], "lr": 0.1}]
    )
    for step in range(110):
        loss = meter.loss(*batch(step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.1f}")
