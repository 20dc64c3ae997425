"""A quantised autoencoder pulls what it passes straight through to the latents, and not its codes. As in https://github.com/showlab/Olaf-World/issues/8."""

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
        code = self.codes[nearest]
        passed = latent + (code - latent).detach()
        moved = (latent.detach() - passed).square().mean()  # expect: GS721
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
