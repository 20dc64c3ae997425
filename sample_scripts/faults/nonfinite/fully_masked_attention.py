"""A padded sentence without any word: its whole row of attention scores is -inf."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x, keep):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        scores = scores.masked_fill(~keep[:, None, :], float("-inf"))  # expect: GS730
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.value(x)


torch.manual_seed(0)
attention = Attention(8)
optimizer = torch.optim.Adam(attention.parameters())
lengths = [[5, 3, 4], [2, 5, 1], [4, 0, 5]]  # the last batch has an empty sentence
for batch in lengths:
    x = torch.randn(3, 5, 8)
    keep = torch.arange(5)[None, :] < torch.tensor(batch)[:, None]
    loss = attention(x, keep).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(round(loss.item(), 4))
