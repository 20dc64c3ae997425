"""Hooks before the steps of all optimizers clip norms, of plain, fused and foreach ones."""

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook


def clip(optimizer, given, named):
    for group in optimizer.param_groups:
        nn.utils.clip_grad_norm_(group["params"], 0.5)


def fit(optimizer, model):
    for _ in range(12):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    handle = register_optimizer_step_pre_hook(clip)
    for kind in ("sgd", "fused", "foreach"):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        if kind == "sgd":
            optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        else:
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01, **{kind: True})
        fit(optimizer, model)
    handle.remove()
