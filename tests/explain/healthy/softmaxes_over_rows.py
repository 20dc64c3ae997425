"""Softmaxes over the first dimension that are meant: over the instances of a bag, over time, in both directions."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Bag(nn.Module):
    """Pools the instances of one bag: each head's weights sum to 1 over them."""

    def __init__(self):
        super().__init__()
        self.embed, self.score, self.out = nn.Linear(5, 16), nn.Linear(16, 3), nn.Linear(48, 2)

    def forward(self, bag):
        h = torch.tanh(self.embed(bag))
        weights = torch.softmax(self.score(h), dim=0)
        return self.out((weights.t() @ h).flatten()[None])


class TimeFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.score, self.out = nn.GRU(5, 16), nn.Linear(16, 1), nn.Linear(16, 2)

    def forward(self, x):
        h = self.rnn(x)[0]
        weights = F.softmax(self.score(h).squeeze(-1), dim=0)
        pooled = torch.einsum("sb,sbh->bh", weights, h)
        also = (weights.unsqueeze(-1) * h).sum(0)
        return self.out(pooled + also)


class Router(nn.Module):
    """Expert choice: each expert takes its best tokens, so that a token's weights need not sum to 1."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(5, 3), nn.ModuleList(nn.Linear(5, 5) for _ in range(3))
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        share = torch.softmax(self.gate(x), dim=0)
        weight, index = share.t().topk(4, dim=-1)
        y = x
        for expert, w, i in zip(self.experts, weight, index, strict=True):
            y = y.index_add(0, i, w[:, None] * expert(x[i]))
        return self.out(y)


bag, time_first, router = Bag(), TimeFirst(), Router()
left, right = nn.Linear(5, 8), nn.Linear(5, 8)
parameters = [p for m in (bag, time_first, router, left, right) for p in m.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)
for step in range(6):
    loss = F.cross_entropy(bag(torch.randn(11, 5)), torch.tensor([step % 2]))
    loss = loss + F.cross_entropy(time_first(torch.randn(7, 4, 5)), torch.arange(4) % 2)
    loss = loss + F.cross_entropy(router(torch.randn(12, 5)), torch.arange(12) % 2)
    a, b = F.normalize(left(torch.randn(6, 5)), dim=1), F.normalize(right(torch.randn(6, 5)), dim=1)
    similar = a @ b.t() / 0.1
    loss = loss - F.log_softmax(similar, dim=0).diagonal().mean() - F.log_softmax(similar, dim=1).diagonal().mean()
    loss = loss + F.nll_loss(F.log_softmax(similar, dim=0).t(), torch.arange(6))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
