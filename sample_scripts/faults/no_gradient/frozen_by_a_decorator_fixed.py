"""A helper is decorated with no_grad, and the encoder runs inside it."""

import torch
from torch import nn


class Retriever(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 4)
        self.head = nn.Linear(4, 1)

    def encode(self, x):
        return nn.functional.normalize(self.encoder(x), dim=-1)

    def forward(self, x):
        return self.head(self.encode(x))


torch.manual_seed(0)
model = Retriever()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(4, 6)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
