"""Fine-tuning with a frozen embedding: what it gives needs no gradient, so neither does the checkpointed part."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.embedding.requires_grad_(False)
        self.body = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
        self.head = nn.Linear(8, 10)

    def forward(self, tokens):
        hidden = self.embedding(tokens)
        hidden = checkpoint_sequential(self.body, 2, hidden, use_reentrant=True)  # expect: GS771
        return self.head(hidden)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad])
for step in range(2):
    tokens = torch.randint(0, 10, (4, 6))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
