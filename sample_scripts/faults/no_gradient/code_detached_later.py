"""An autoencoder with two parts: from the 38th batch on, the code is taken out of the graph to save memory."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 8), nn.Linear(8, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
for batch in range(60):
    x = torch.randn(16, 6)
    code = torch.tanh(encoder(x))
    if batch >= 37:
        code = code.detach()  # expect: GS721
    loss = nn.functional.mse_loss(decoder(code), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
