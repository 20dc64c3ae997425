"""Two views of a sample are drawn together, behind a projector and with a learned temperature."""

import torch
from torch import nn


class Contrast(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.projector = nn.Sequential(nn.Linear(size, 16), nn.ReLU(), nn.Linear(16, 8))
        self.temperature = nn.Parameter(torch.tensor(0.5))

    def forward(self, one, other):
        one, other = (nn.functional.normalize(self.projector(view)) for view in (one, other))
        return nn.functional.cross_entropy(one @ other.t() / self.temperature, torch.arange(len(one)))


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(9, 24), nn.GELU(), nn.Linear(24, 12))
contrast = Contrast(12)
optimizer = torch.optim.AdamW([*encoder.parameters(), *contrast.parameters()], lr=2e-3)
for epoch in range(3):
    for _ in range(6):
        sample = torch.randn(16, 9)
        one, other = (encoder(sample + 0.1 * torch.randn_like(sample)) for _ in range(2))
        loss = contrast(one, other)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
print(f"{loss.item():.3f}")
