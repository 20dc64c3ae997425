"""Gradients for each sample, without those of layers in a plain list (pytorch/pytorch issue 632)."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [nn.Linear(6, 6) for _ in range(2)]  # expect: GS725
        self.last = nn.Linear(6, 1)

    def forward(self, x):
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.last(x)


tower = Tower()
weights = {name: weight.detach() for name, weight in tower.named_parameters()}


def loss_of(weights, x, y):
    return (functional_call(tower, weights, (x[None],)).squeeze() - y).square()


for step in range(16):
    x = torch.randn(20, 6)
    gradients = vmap(grad(loss_of), in_dims=(None, 0, 0))(weights, x, x.sum(1))
    for name, gradient in gradients.items():
        norms = gradient.flatten(1).norm(dim=1).clamp(min=1.0)
        mean = (gradient.flatten(1) / norms[:, None]).mean(0).view_as(weights[name])
        weights[name] = (weights[name] - 0.1 * mean).detach()
print(f"loss {vmap(loss_of, in_dims=(None, 0, 0))(weights, x, x.sum(1)).mean().item():.3f}")
