"""Forces on atoms, trained through the derivative of an energy whose blocks are checkpointed."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Potential(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.start = nn.Linear(3, width)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.SiLU()) for _ in range(2))
        self.out = nn.Linear(width, 1)

    def forward(self, places):
        hidden = self.start(places)
        for block in self.blocks:
            hidden = checkpoint(block, hidden, use_reentrant=True)  # expect: GS779
        return self.out(hidden).sum()


torch.manual_seed(0)
model = Potential()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    places = torch.randn(8, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(model(places), places, create_graph=True)
    loss = (slope + places.detach()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
