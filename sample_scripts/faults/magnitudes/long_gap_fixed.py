"""Which symbol came first? A plain recurrent cell over sixty steps, and what is asked for is sixty steps back."""

import torch
from torch import nn

torch.manual_seed(0)


class Recall(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(10, width)
        self.cell = nn.RNNCell(width, width)
        self.head = nn.Linear(width, 10)

    def forward(self, tokens):
        h = torch.zeros(tokens.shape[0], 32)
        for t in range(tokens.shape[1]):
            h = h + 0.1 * self.cell(self.embed(tokens[:, t]), h)
        return self.head(h)


model = Recall()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(9):
    tokens = torch.randint(0, 10, (16, 60))
    loss = nn.functional.cross_entropy(model(tokens), tokens[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
