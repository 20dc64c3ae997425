"""VAE with blurry, too-well-fitted reconstructions and a strange balance of the two terms.

Recon.backward(retain_graph=True) is followed by backward of recon + kl, so recon counts twice.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

DIM, LATENT = 30, 4
data = torch.sigmoid(torch.randn(256, 3) @ torch.randn(3, DIM) * 2)

enc = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU())
to_mu = nn.Linear(32, LATENT)
to_logvar = nn.Linear(32, LATENT)
dec = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, DIM), nn.Sigmoid())

params = [p for m in (enc, to_mu, to_logvar, dec) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=5e-3)

for epoch in range(4):
    r_sum = k_sum = 0.0
    for x in data[torch.randperm(256)].split(32):
        h = enc(x)
        mu, logvar = to_mu(h), to_logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        recon = F.binary_cross_entropy(dec(z), x, reduction="sum") / len(x)
        kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()

        opt.zero_grad()
        total = recon + kl
        total.backward()
        opt.step()
        r_sum += recon.item() / 8
        k_sum += kl.item() / 8
    print(f"epoch {epoch} recon {r_sum:.3f} kl {k_sum:.3f}")
