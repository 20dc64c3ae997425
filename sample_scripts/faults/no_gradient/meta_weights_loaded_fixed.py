"""A meta-learner whose adapted weights are loaded into a copy of the network: the outer loss trains the copy.

As in https://discuss.pytorch.org/t/understanding-load-state-dict-effect-on-computational-graph/16115/6.
"""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)


def adapted(x, y):
    start = dict(net.named_parameters())
    loss = nn.functional.mse_loss(functional_call(net, start, (x,)), y)
    gradients = torch.autograd.grad(loss, list(start.values()), create_graph=True)
    return {name: one - 0.1 * g for (name, one), g in zip(start.items(), gradients, strict=True)}


def forecast(weights, x):
    return functional_call(net, weights, (x,))


for _ in range(12):
    level = torch.rand(1)
    near, far = torch.randn(8, 1), torch.randn(8, 1)
    loss = nn.functional.mse_loss(forecast(adapted(near, level * near), far), level * far)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
