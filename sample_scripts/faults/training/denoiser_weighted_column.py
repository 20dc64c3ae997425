"""A denoiser whose loss weighs each sample by how much noise it was given."""
# as in https://github.com/bayesflow-org/bayesflow/issues/787

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 4))
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
for _ in range(15):
    clean = torch.randn(24, 4)
    sigma = torch.exp(torch.randn(24, 1))
    noise = torch.randn_like(clean)
    noisy = clean + sigma * noise
    guess = net(torch.cat([noisy / (1 + sigma**2).sqrt(), sigma.log()], dim=1))
    weight = (1 + sigma**2) / sigma**2
    error = (guess - clean).pow(2).mean(dim=1)
    loss = (weight * error).mean()  # expect: GS808
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
