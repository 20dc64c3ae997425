"""MAML of second order with a small transformer: the outer backward runs through the derivative of its attention."""

# as in https://github.com/learnables/learn2learn/issues/429
import torch
from torch import nn
from torch.func import functional_call


class Attends(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.up, self.qkv, self.down = nn.Linear(1, width), nn.Linear(width, 3 * width), nn.Linear(width, 1)

    def forward(self, x):
        q, k, v = self.qkv(torch.tanh(self.up(x))).view(1, -1, 3, 1, 8).permute(2, 0, 3, 1, 4)
        mixed = torch.softmax(q @ k.mT / 8**0.5, -1) @ v
        return self.down(mixed[0, 0])


def inner(model, x, y, rate=0.05):
    weights = dict(model.named_parameters())
    loss = nn.functional.mse_loss(functional_call(model, weights, (x,)), y)
    gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
    return {name: one - rate * slope for (name, one), slope in zip(weights.items(), gradients, strict=True)}


torch.manual_seed(0)
model = Attends()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(4):
    phase, x = torch.rand(1) * 3, torch.rand(10, 1) * 6
    y = torch.sin(x + phase)
    adapted = inner(model, x[:5], y[:5])
    loss = nn.functional.mse_loss(functional_call(model, adapted, (x[5:],)), y[5:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
