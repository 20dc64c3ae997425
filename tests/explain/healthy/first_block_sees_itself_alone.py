"""Each block attends to the summaries of those before it and its own: the first has nothing to choose between."""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)

    def forward(self, x, summaries):
        bank = torch.stack(summaries, 1)
        score = torch.einsum("bw,bsw->bs", self.query(x), bank)
        return torch.einsum("bs,bsw->bw", score.softmax(-1), bank)


class Net(nn.Module):
    def __init__(self, width=12, depth=3):
        super().__init__()
        self.inward, self.outward = nn.Linear(4, width), nn.Linear(width, 1)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.pools = nn.ModuleList(Pool(width) for _ in range(depth))

    def forward(self, x):
        x, summaries = torch.tanh(self.inward(x)), []
        for layer, pool in zip(self.layers, self.pools, strict=True):
            h = torch.tanh(layer(x))
            summaries.append(h)
            x = x + pool(h, summaries)
        return self.outward(x).squeeze(1)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(40):
    x = torch.randn(32, 4)
    loss = (net(x) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
