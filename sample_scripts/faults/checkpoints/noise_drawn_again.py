"""A denoiser whose noisy layer is checkpointed in the old way, without the state of the random numbers."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Noisy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.layer(x)) * (1 + 0.5 * torch.randn_like(x))


class Denoiser(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.first, self.noisy, self.last = nn.Linear(4, width), Noisy(width), nn.Linear(width, 4)

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        hidden = checkpoint(
            self.noisy,
            hidden,
            use_reentrant=True,
            preserve_rng_state=False,  # expect: GS778
        )
        return self.last(hidden)


torch.manual_seed(0)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(6):
    clean = torch.randn(16, 4)
    loss = (model(clean + 0.1 * torch.randn(16, 4)) - clean).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
