"""Gradients of each sample with torch.func, through an activation from another file."""

import torch
from activation import swish
from torch import nn
from torch.func import functional_call, grad, vmap


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.second(swish(self.first(x)))


torch.manual_seed(0)
model = Network()
weights = dict(model.named_parameters())


def loss(weights, sample):
    return functional_call(model, weights, (sample,)).square().mean()


for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    slopes = vmap(grad(loss), in_dims=(None, 0))({name: one.detach() for name, one in weights.items()}, batch)
    print(slopes["first.weight"].shape)
