"""LayerDrop inside a checkpoint, by Python's random numbers (after pytorch/torchtitan#1117)."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        if self.training and torch.rand(()).item() < 0.05:
            return x
        return x + self.linear(self.norm(x)).relu()


torch.manual_seed(0)
blocks, head = nn.ModuleList(Block(16) for _ in range(4)), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=1e-3)
for step in range(40):
    x = given = torch.randn(32, 16)
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    loss = nn.functional.mse_loss(head(x), given.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
