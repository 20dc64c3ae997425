"""A state that is read through .data before it goes into the loss."""

import torch
from torch import nn

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.score = nn.Linear(8, 1)

    def forward(self, tokens):
        state = self.embed(tokens).mean(1).data  # expect: GS721
        return self.score(state).squeeze(1)


critic = Critic()
optimizer = torch.optim.AdamW(critic.parameters(), lr=1e-2)
for epoch in range(3):
    tokens = torch.randint(10, (4, 5))
    loss = nn.functional.mse_loss(critic(tokens), torch.ones(4))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
