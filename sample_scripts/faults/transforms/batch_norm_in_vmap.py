"""Per-sample gradients of a model with batch normalization, whose running statistics are one for all samples."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)  # expect: GS775
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        hidden = self.norm(self.first(x))
        return self.last(hidden.relu())


torch.manual_seed(0)
net = Net()
parameters = dict(net.named_parameters())


def loss(parameters, x, y):
    return nn.functional.mse_loss(functional_call(net, parameters, (x[None],)), y[None])


gradients = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, torch.randn(5, 4), torch.randn(5, 1))
print({name: tuple(value.shape) for name, value in gradients.items()})
