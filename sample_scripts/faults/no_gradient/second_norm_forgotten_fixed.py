"""A pre-norm block."""

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        x = x + self.mlp(self.norm2(x))
        return x


model = nn.Sequential(Block(16), Block(16), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step in range(6):
    x = torch.randn(8, 5, 16)
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.argmax(-1).flatten() % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, float(loss))
