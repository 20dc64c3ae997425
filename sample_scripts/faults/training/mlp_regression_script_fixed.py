"""House price MLP whose loss goes down for a moment and then swings wildly; the gradients are never cleared.

Like https://stackoverflow.com/questions/48001598/why-do-we-need-to-call-zero-grad-in-pytorch
"""

import torch
from torch import nn

torch.manual_seed(0)

# fake "houses": 8 features, the price depends on a few of them
X = torch.randn(256, 8)
price = 3.0 * X[:, 0] - 2.0 * X[:, 1] + X[:, 2] * X[:, 3] + 0.1 * torch.randn(256)
price = price.unsqueeze(1)

net = nn.Sequential(
    nn.Linear(8, 32),
    nn.ReLU(),
    nn.Linear(32, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
crit = nn.MSELoss()

bs = 64
for epoch in range(6):
    perm = torch.randperm(len(X))
    running = 0.0
    for i in range(0, len(X), bs):
        idx = perm[i : i + bs]
        out = net(X[idx])
        loss = crit(out, price[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    print(f"epoch {epoch}  loss {running / (len(X) // bs):.4f}")

with torch.no_grad():
    print("final mse", crit(net(X), price).item())
