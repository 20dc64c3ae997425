"""After its training a small classifier of seeds is asked how sharp its minimum is: along a random direction.

As in https://github.com/amirgholami/PyHessian/issues/12.
"""

import torch
from torch import nn


def slopes(model, seeds, kinds):
    loss = nn.functional.cross_entropy(model(seeds), kinds)
    return torch.autograd.grad(loss, list(model.parameters()))  # expect: GS772


def sharpness(model, seeds, kinds):
    slope = slopes(model, seeds, kinds)
    direction = [torch.randn_like(one) for one in model.parameters()]
    along = sum((one * other).sum() for one, other in zip(slope, direction, strict=True))
    bent = torch.autograd.grad(along, list(model.parameters()))  # expect: GS772 second_backward_at
    return sum((one * other).sum() for one, other in zip(bent, direction, strict=True)).item()


torch.manual_seed(0)
seeds, kinds = torch.randn(64, 5), torch.randint(0, 3, (64,))
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(seeds), kinds).backward()
    optimizer.step()
print(f"sharpness {sharpness(model, seeds, kinds):.3f}")
