"""GAN on a 2d mixture.

The generator's backward also leaves gradients in the discriminator, they are zeroed unread before its own
step.
"""

import torch
from torch import nn

torch.manual_seed(0)

Z = 4
G = nn.Sequential(nn.Linear(Z, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n):
    c = torch.tensor([[2.0, 0.0], [-2.0, 0.0]])[torch.randint(0, 2, (n,))]
    return c + 0.3 * torch.randn(n, 2)


ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for it in range(20):
    # discriminator
    opt_d.zero_grad()
    fake = G(torch.randn(64, Z))
    d_loss = bce(D(real_batch(64)), ones) + bce(D(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    g_loss = bce(D(G(torch.randn(64, Z))), ones)
    g_loss.backward()
    opt_g.step()

    if it % 5 == 4:
        print(f"it {it + 1}: d {d_loss.item():.4f} g {g_loss.item():.4f}")
