"""Speech in noise: each channel of the microphone array gets a gain, which is to learn with the rest.

As in https://github.com/guillefix/transflower-lightning/issues/6.
"""

import torch
from torch import nn


class Gains(nn.Module):
    def __init__(self, channels):
        super().__init__()
        start = torch.ones(channels)
        nn.init.normal_(start, mean=1.0, std=0.02)
        self.register_buffer("trainable_gains", start.view(-1, 1))  # expect: GS709

    def forward(self, sound):
        return sound * self.trainable_gains


class Array(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gains, self.filter = Gains(channels), nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, sound):
        return self.filter(self.gains(sound))


torch.manual_seed(1)
model = Array(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for _ in range(30):
    clean = torch.randn(16, 1, 40).cumsum(2) / 6
    noisy = clean + torch.arange(6).view(1, 6, 1) * torch.randn(16, 6, 40)
    loss = (model(noisy) - clean).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
