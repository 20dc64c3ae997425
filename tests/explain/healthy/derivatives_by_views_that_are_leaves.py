"""A field whose divergence is trained: the state is a part of a longer one, and views of it are taken."""

import torch
from torch import nn

torch.manual_seed(0)
field = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
for step in range(6):
    flat = torch.randn(12)
    if step % 2:
        flat[:2] = 0.0
    state = flat[:8].view(4, 2)
    with torch.set_grad_enabled(True):
        state.requires_grad_(True)
        spread = torch.unsqueeze(state, 0).repeat(3, 1, 1)
        speed = field(spread).mean(0)
        trace = torch.zeros(4)
        for at in range(2):
            slope = torch.autograd.grad(speed[:, at].sum(), state, create_graph=True)[0]
            trace = trace + slope[:, at]
    loss = trace.square().mean() + speed.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
