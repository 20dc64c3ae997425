"""A few readers look into a long memory; what comes out of torch's own attention is reshaped as it is."""

import torch
import torch.nn.functional as F
from torch import nn


def split_heads(x, heads):
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)  # expect: GS847 called_at


def merge_heads(x):
    batch, heads, length, size = x.shape
    return x.reshape(batch, length, heads * size)  # expect: GS847


class Reader(nn.Module):
    def __init__(self, width=16, heads=4, readers=3):
        super().__init__()
        self.heads = heads
        self.readers = nn.Parameter(torch.randn(readers, width))
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 2)

    def forward(self, memory):
        readers = self.readers.repeat(len(memory), 1, 1)
        q = split_heads(self.q(readers), self.heads)
        k, v = split_heads(self.k(memory), self.heads), split_heads(self.v(memory), self.heads)
        found = merge_heads(F.scaled_dot_product_attention(q, k, v))
        return self.head(found)


def main():
    torch.manual_seed(8)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(5):
        memory = torch.randn(4, 9, 16)
        wanted = torch.stack([memory.mean(dim=(1, 2)), memory.amax(dim=(1, 2))], dim=-1).unsqueeze(1)
        loss = (model(memory) - wanted).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
