"""The network gives the logarithm of a deviation: noise takes its exp, and the divergence its square."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(8, 4), nn.Linear(2, 8)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
for _ in range(6):
    x = torch.randn(32, 8)
    mean, log_deviation = encoder(x).chunk(2, 1)
    drawn = mean + torch.randn_like(mean) * log_deviation.exp()
    divergence = (0.5 * ((2 * log_deviation).exp() + mean.square() - 1) - log_deviation).sum(1).mean()
    loss = (decoder(drawn) - x).square().sum(1).mean() + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
