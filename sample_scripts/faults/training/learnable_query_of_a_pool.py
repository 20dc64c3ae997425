"""Sets of measurements, pooled by a mean first; in a second stage by attention with a query of its own.

As in https://github.com/imbue-ai/slot_attention/issues/8.
"""

import torch
from torch import nn


class LearnableQuery(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("query", torch.empty(width))  # expect: GS709
        nn.init.normal_(self.query, std=0.1)

    def forward(self, items):
        weights = (items @ self.query).softmax(1)
        return torch.einsum("bi,biw->bw", weights, items)


class Classifier(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.embed, self.pool, self.out = nn.Linear(3, 16), pool, nn.Linear(16, 2)

    def forward(self, items):
        return self.out(self.pool(torch.tanh(self.embed(items))))


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        items = torch.randn(32, 9, 3)
        labels = (items[:, :, 0].amax(1) > 1.5).long()
        loss = nn.functional.cross_entropy(model(items), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


class Mean(nn.Module):
    def forward(self, items):
        return items.mean(1)


torch.manual_seed(2)
train(Classifier(Mean()), 20)
train(Classifier(LearnableQuery(16)), 20)
