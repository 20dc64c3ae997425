"""Autoencoder with a warm-up and a cosine behind it, both in steps, of which an epoch takes one.

The warm-up ends after 40 of them, and the run has 6 epochs.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

STEPS, WARM_UP, EPOCHS = 120, 40, 6


class Autoencoder(nn.Module):
    def __init__(self, width=12, code=3):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, code))
        self.decode = nn.Sequential(nn.Linear(code, 24), nn.GELU(), nn.Linear(24, width))

    def forward(self, x):
        return self.decode(self.encode(x))


torch.manual_seed(0)
mixing = torch.randn(3, 12)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
warm_up = LinearLR(optimizer, 0.01, 1.0, total_iters=WARM_UP)
cosine = CosineAnnealingLR(optimizer, T_max=STEPS - WARM_UP)
schedule = SequentialLR(optimizer, [warm_up, cosine], milestones=[WARM_UP])
for epoch in range(EPOCHS):
    for _ in range(STEPS // EPOCHS):
        x = torch.randn(32, 3) @ mixing
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()  # expect: GS809
    print(f"epoch {epoch} loss {loss.item():.4f} lr {schedule.get_last_lr()[0]:.5f}")
