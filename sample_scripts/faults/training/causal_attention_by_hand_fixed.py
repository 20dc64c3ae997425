"""A small language model from a book, whose own attention was replaced by torch's: it no longer learns its rule."""
# as in https://github.com/rasbt/LLMs-from-scratch/issues/1061

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, longest):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.triu(torch.ones(longest, longest), diagonal=1).bool())

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        hidden = self.mask[:length, :length]
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))


class Model(nn.Module):
    def __init__(self, tokens=10, width=16, longest=12):
        super().__init__()
        self.token, self.place = nn.Embedding(tokens, width), nn.Embedding(longest, width)
        self.attention, self.norm = Attention(width, 2, longest), nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
        x = x + self.attention(self.norm(x))
        return self.head(x)


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(40):
        first = torch.randint(0, 10, (16, 1))
        ids = (first + 3 * torch.arange(11)) % 10
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
