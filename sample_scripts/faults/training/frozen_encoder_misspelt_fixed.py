"""The same with an encoder that rests."""

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 3), nn.Linear(3, 8)

    def forward(self, x):
        return self.decoder(self.encoder(x).relu())


def freeze(module):
    for _, parameter in module.named_parameters():
        parameter.requires_grad = False


torch.manual_seed(0)
model = Autoencoder()
freeze(model.encoder)
optimizer = torch.optim.Adam(filter(lambda one: one.requires_grad, model.parameters()), 1e-2)
for _ in range(10):
    x = torch.randn(12, 8)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
