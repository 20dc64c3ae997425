"""Pairwise ranking (RankNet) per query.

Score differences by scores[:, None] - scores[None, :] on purpose, only the ordered pairs count.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

N_QUERIES, N_DOCS, D = 24, 10, 8
w = torch.randn(D)
queries = []
for _ in range(N_QUERIES):
    docs = torch.randn(N_DOCS, D)
    utility = docs @ w + 0.3 * torch.randn(N_DOCS)
    relevance = (utility.argsort().argsort() // 4).float()
    queries.append((docs, relevance))

scorer = nn.Sequential(nn.Linear(D, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=1e-2)


def ranknet_loss(scores, rel):
    diff = scores[:, None] - scores[None, :]
    better = (rel[:, None] > rel[None, :]).float()
    return (F.softplus(-diff) * better).sum() / better.sum()


def pair_accuracy():
    good = total = 0
    with torch.no_grad():
        for docs, rel in queries:
            s = scorer(docs).squeeze(1)
            better = rel[:, None] > rel[None, :]
            good += ((s[:, None] > s[None, :]) & better).sum().item()
            total += better.sum().item()
    return good / total


for epoch in range(6):
    for i in range(0, N_QUERIES, 4):
        loss = sum(ranknet_loss(scorer(d).squeeze(1), r) for d, r in queries[i : i + 4]) / 4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} pair accuracy {pair_accuracy():.3f}")
