"""Decoders in a plain dict, built by a function of another file (pytorch/pytorch issue 632)."""

import torch
import torch.nn.functional as F
from parts import perceptron
from torch import nn

SIZES = {"pulse": 3, "sound": 12}


class Fusion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = perceptron(sum(SIZES.values()), 24, 6)
        self.decoders = {}  # expect: GS725
        for name, size in SIZES.items():
            self.decoders[name] = perceptron(6, 24, size)  # expect: GS725 retained_at

    def forward(self, readings):
        latent = self.encoder(torch.cat(list(readings.values()), 1))
        return {name: decoder(latent) for name, decoder in self.decoders.items()}


torch.manual_seed(0)
model = Fusion()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(18):
    readings = {name: torch.randn(32, size) for name, size in SIZES.items()}
    rebuilt = model(readings)
    loss = sum(F.mse_loss(rebuilt[name], readings[name]) for name in SIZES)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
