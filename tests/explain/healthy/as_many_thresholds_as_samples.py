"""An ordinal regression whose scores are held against thresholds, of which there are as many as samples by chance."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
y = 2 * x[:, 0]
thresholds = torch.linspace(-2, 2, 64)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(40):
    scores = net(x) - thresholds
    loss = nn.functional.binary_cross_entropy_with_logits(scores, (y[:, None] > thresholds).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
