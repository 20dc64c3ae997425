"""Fields of a farm: one start for all, from which a step by hand leads to a field's own law, by its values only.

As in https://github.com/KanishJebaMathewM/Truxify/issues/13118.
"""

import torch

torch.manual_seed(0)
slope, height = torch.zeros(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([slope, height], lr=0.05)


def misfit(slope, height, soil, yields):
    return (soil @ slope + height - yields).square().mean()


for _ in range(12):
    law = torch.randn(3, 1) + 1
    soil, more = torch.randn(8, 3), torch.randn(16, 3)
    first = misfit(slope, height, soil, soil @ law + 2)
    by_slope, by_height = torch.autograd.grad(first, (slope, height), create_graph=True)
    own_slope = slope.detach() - 0.1 * by_slope  # expect: GS902
    own_height = height - 0.1 * by_height
    loss = misfit(own_slope, own_height, more, more @ law + 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.3f}")
