"""Run an ensemble of weights over a batch with vmap, through an in-place activation."""

import torch
from activation import leaky
from torch.func import vmap

torch.manual_seed(0)
weights = torch.randn(3, 4, 2)


def member(weight, x):
    return leaky(x @ weight)


for batch in torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4):
    print(vmap(member, in_dims=(0, None))(weights, batch).shape)
