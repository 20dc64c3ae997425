"""A deep denoiser of sound; its rate belongs to another optimizer."""
# as in https://github.com/preddy5/Im2Vec/issues/10

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, width=16, depth=26):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 5, padding=2), nn.Conv1d(width, 1, 5, padding=2)
        self.between = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(depth))

    def forward(self, x):
        x = self.first(x)
        for layer in self.between:
            x = nn.functional.softplus(layer(x))
        return self.last(x)


def fit(model, rate, steps=8):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    turns = torch.linspace(0, 12, 40)
    for _ in range(steps):
        clean = torch.sin(turns + torch.rand(8, 1, 1))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(clean + 0.1 * torch.randn_like(clean)), clean)
        loss.backward()
        optimizer.step()  # expect: GS737 called_at
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"loss {fit(Denoiser(), rate=0.8):.3f}")  # expect: GS737
