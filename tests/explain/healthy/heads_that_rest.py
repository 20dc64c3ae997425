"""An auxiliary head is trained in the first 40 steps only and then watched; experts take turns at random."""

import torch
from torch import nn

torch.manual_seed(0)
body, head, auxiliary = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 2)
experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
everything = nn.ModuleList([body, head, auxiliary, experts])
optimizer = torch.optim.AdamW(everything.parameters(), 1e-3)
seen = 0.0
for step in range(100):
    h = torch.relu(body(torch.randn(8, 6)))
    h = h + experts[int(torch.randint(4, ()))](h)
    if step >= 40:
        with torch.no_grad():
            seen += auxiliary(h).square().mean().item()
        seen += auxiliary(h).square().mean().item() + auxiliary(h).detach().numpy().sum()
    loss = head(h).square().mean()
    if step < 40:
        loss = loss + auxiliary(h).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
