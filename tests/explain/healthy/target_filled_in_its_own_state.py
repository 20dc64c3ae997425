"""A target network follows by copy_() into its own state_dict(), and is given that state again.

The load is idle: what it loads is there already. But nothing was kept that should have been a copy. Beside it a matrix
is made symmetric: it is set to half of itself and half of its transpose, which is no average with itself.
"""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 6) * 0.1)
        self.out = nn.Linear(1, 1)

    def forward(self, x):
        return self.out((x @ self.weight * x).sum(1, keepdim=True))

    @torch.no_grad()
    def make_symmetric(self):
        self.weight.copy_(0.5 * self.weight + 0.5 * self.weight.t())


def follow(target, source, tau):
    target_state, source_state = target.state_dict(), source.state_dict()
    for name in target_state:
        target_state[name].copy_(tau * source_state[name] + (1 - tau) * target_state[name])
    target.load_state_dict(target_state)


net = Bilinear()
target = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    x, following = torch.randn(32, 6), torch.randn(32, 6)
    wanted = 0.5 * target(following) + x[:, :1]
    loss = F.mse_loss(net(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    net.make_symmetric()
    follow(target, net, 0.05)
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f}")
