"""Autoencoder with tied weights, the decoder's begins as the encoder's.

As in https://github.com/pytorch/pytorch/issues/62264.
"""

import torch
from torch import nn
from torch.nn import Parameter


def tie(first, second):
    second.bias = Parameter(first.bias.detach().clone())
    return second


torch.manual_seed(0)
encoder = nn.Linear(6, 6)
decoder = tie(encoder, nn.Linear(6, 6))
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.05)
for _ in range(10):
    x = torch.randn(8, 6)
    loss = (decoder(torch.tanh(encoder(x))) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
