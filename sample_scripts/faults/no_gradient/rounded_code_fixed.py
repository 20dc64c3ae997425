"""An autoencoder whose code is rounded: the derivative of round is zero everywhere."""

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 3)
        self.decoder = nn.Linear(3, 6)

    def forward(self, x):
        code = torch.sigmoid(self.encoder(x)) * 4
        code = code + (code.round() - code).detach()
        return self.decoder(code)


torch.manual_seed(0)
model = Autoencoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(5, 6)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
