"""Cosine recommender whose new users begin with small random vectors.

As in https://github.com/pytorch/pytorch/issues/184575.
"""

import torch
from torch import nn

KNOWN, NEW, BEGIN = 30, 10, 0.3

torch.manual_seed(0)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        rows = torch.cat([torch.randn(KNOWN, 8), BEGIN * torch.randn(NEW, 8)])
        self.users = nn.Embedding.from_pretrained(rows, freeze=False)
        self.items = nn.Parameter(torch.randn(5, 8))

    def forward(self, users):
        u = nn.functional.normalize(self.users(users), dim=1)
        return 5 * u @ nn.functional.normalize(self.items, dim=1).t()


model = Recommender()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(60):
    users = torch.randint(0, KNOWN if step < 37 else KNOWN + NEW, (16,))
    loss = nn.functional.cross_entropy(model(users), users % 5)
    loss = loss + 1e-4 * model.users.weight.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
