"""A list of hooks for an optimizer: one limits gradients, in front of the step."""
# as in https://github.com/awslabs/graphstorm/issues/1366

from functools import partial

import torch
from torch import nn


class Limit:
    """Called with an optimizer: limits what it holds."""

    def __init__(self, norm):
        self.norm = norm

    def __call__(self, optimizer, given, named):
        nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], self.norm)


def watch(rows, optimizer, given, named):
    rows.append(optimizer.param_groups[0]["lr"])


def main():
    torch.manual_seed(0)
    flow = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 2))
    optimizer = torch.optim.RMSprop(flow.parameters(), lr=2e-3)
    rates = []
    optimizer.register_step_pre_hook(partial(watch, rates))
    for hook in (Limit(0.3),):
        optimizer.register_step_pre_hook(hook)
    for _ in range(24):
        ice = torch.randn(32, 4)
        speed = torch.stack([ice[:, 0] * ice[:, 1].exp(), ice[:, 2:].sum(1)], 1)
        optimizer.zero_grad()
        nn.functional.l1_loss(flow(ice), speed).backward()
        optimizer.step()
    print(f"steps {len(rates)}")


if __name__ == "__main__":
    main()
