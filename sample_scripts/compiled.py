"""Train one transformer block under torch.compile; two of its lines show what a compiler has to deal with."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 16
HEADS = 2
STEPS = 3


def attention(q, k, v):
    weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ v


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.add_(1)  # a buffer is written in place
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        mixed = attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.project(mixed)  # x is used here and above: its gradients are added
        return x + self.mlp(self.norm2(x))


def batch(size=4, length=6):
    return (torch.randn(size, length, WIDTH),)


def main():
    torch.manual_seed(0)
    model = Block()
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (x,) = batch()
    for _ in range(STEPS):
        loss = F.mse_loss(compiled(x), x.flip(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"final loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
