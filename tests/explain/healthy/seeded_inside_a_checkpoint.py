"""Own generators in and around checkpoints that draw the same again: seeded inside, or drawn from outside."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
outside = torch.Generator().manual_seed(1)


class Noisy(nn.Module):
    def __init__(self, seed):
        super().__init__()
        self.seed, self.layer = seed, nn.Linear(8, 8)

    def forward(self, x, noise):
        own = torch.Generator().manual_seed(self.seed)
        keep = (torch.rand(x.shape, generator=own) > 0.1).float()
        return torch.tanh(self.layer(x * keep + noise)) + x


blocks, head = nn.ModuleList(Noisy(seed) for seed in range(3)), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.05)
for _ in range(8):
    x = torch.randn(16, 8, generator=outside)
    target = x.sum(1, keepdim=True)
    for block in blocks:
        x = checkpoint(block, x, 0.1 * torch.randn(x.shape, generator=outside), use_reentrant=False)
    loss = (head(x) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
