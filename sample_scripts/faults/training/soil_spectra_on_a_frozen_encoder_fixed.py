"""Clay from spectra of soil: a head learns on an encoder that was trained before and is frozen.

As in https://github.com/idstcv/SoftTriple/issues/4.
"""

import torch
from torch import nn

BANDS = 20


def freeze(module):
    module.eval().requires_grad_(False)


def spectra(count=32):
    clay = torch.rand(count, 1)
    return clay * torch.linspace(0, 1, BANDS) + 0.1 * torch.randn(count, BANDS), clay


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(BANDS, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 6))
decoder = nn.Linear(6, BANDS)
before = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
for _ in range(10):
    seen, _ = spectra()
    before.zero_grad()
    nn.functional.mse_loss(decoder(encoder(seen)), seen).backward()
    before.step()

model = nn.ModuleDict({"encoder": encoder, "head": nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1))})
freeze(model["encoder"])
weights = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.Adam(weights, lr=1e-2)
for step in range(12):
    seen, clay = spectra()
    loss = nn.functional.mse_loss(model["head"](model["encoder"](seen)), clay)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
