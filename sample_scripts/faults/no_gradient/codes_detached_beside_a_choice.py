"""A quantised autoencoder detaches its codes where they are looked up, and where the nearest is chosen. As in https://github.com/showlab/Olaf-World/issues/8."""

import torch
from torch import nn


class Quantised(nn.Module):
    def __init__(self, codes=16, width=4):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(12, width), nn.Linear(width, 12)
        self.codes = nn.Parameter(torch.randn(codes, width) * 0.5)

    def forward(self, x):
        latent = self.encoder(x)
        nearest = torch.cdist(latent.detach(), self.codes.detach()).argmin(1)
        code = self.codes.detach()[nearest]  # expect: GS721
        passed = latent + (code - latent).detach()
        moved = (latent.detach() - code).square().mean()
        kept = (latent - code.detach()).square().mean()
        return (self.decoder(passed) - x).square().mean() + moved + 0.25 * kept


if __name__ == "__main__":
    torch.manual_seed(0)
    model, mixing = Quantised(), torch.randn(4, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(60):
        loss = model(torch.randn(64, 4) @ mixing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.2f}")
