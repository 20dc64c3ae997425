"""An attack that needs the input's gradient only, and computes those of all weights."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
for _ in range(3):
    x, y = torch.randn(4, 8, requires_grad=True), torch.randint(3, (4,))
    loss = nn.functional.cross_entropy(model(x), y)
    (gradient,) = torch.autograd.grad(loss, x)
    adversarial = (x + 0.1 * gradient.sign()).detach()
    print(adversarial.shape)
