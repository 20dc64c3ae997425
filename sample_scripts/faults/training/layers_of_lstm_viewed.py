"""A forecast from the last states of all layers of an LSTM."""

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self, layers=3, hidden=10):
        super().__init__()
        self.read = nn.LSTM(2, hidden, layers, batch_first=True, dropout=0.1)
        self.norm = nn.LayerNorm(layers * hidden)
        self.out = nn.Linear(layers * hidden, 1)

    def forward(self, x):
        _, (state, _) = self.read(x)
        state = state.reshape(x.shape[0], self.norm.normalized_shape[0])  # expect: GS851
        return self.out(self.norm(state)).squeeze(1)


torch.manual_seed(0)
model = Forecast()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(25):
    x = torch.randn(24, 8, 2)
    loss = nn.functional.mse_loss(model(x), x[..., 0].mean(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"loss {loss.item():.3f}")
