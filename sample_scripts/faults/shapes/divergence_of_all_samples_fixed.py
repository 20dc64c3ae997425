"""A variational autoencoder of short melodies; the divergence has one number for each of them.

As in https://github.com/wohlert/semi-supervised-pytorch/issues/21.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Melodies(nn.Module):
    def __init__(self, notes=16, latent=3):
        super().__init__()
        self.encode, self.decode = nn.Linear(notes, 2 * latent), nn.Linear(latent, notes)

    def forward(self, melody):
        mean, log_variance = self.encode(melody).chunk(2, dim=1)
        drawn = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(drawn), mean, log_variance


def terms(model, melody):
    drawn, mean, log_variance = model(melody)
    likelihood = -F.mse_loss(drawn, melody, reduction="none").sum(1)
    divergence = -0.5 * torch.sum(1 + log_variance - mean.square() - log_variance.exp(), dim=1)
    return likelihood, divergence


def main():
    torch.manual_seed(0)
    model = Melodies()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(20):
        melody = torch.randn(32, 3) @ torch.ones(3, 16).triu()
        likelihood, divergence = terms(model, melody)
        bound = likelihood - divergence
        loss = -bound.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
