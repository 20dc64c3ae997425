"""Each crossing gathers from its neighbours on a map; those that are not there are taken out of the weights.

As in https://github.com/huggingface/pytorch-image-models/pull/2236.
"""

import torch
from torch import nn


class Gathers(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.score, self.give = nn.Linear(width, 1), nn.Linear(width, width)

    def forward(self, crossings, joined):
        scores = self.score(crossings).squeeze(-1).unsqueeze(1).expand(-1, joined.shape[1], -1)
        weights = torch.softmax(scores.masked_fill(joined == 0, float("-inf")), dim=-1)
        return crossings + torch.bmm(weights, self.give(crossings))


torch.manual_seed(1)
gathers, head = Gathers(), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*gathers.parameters(), *head.parameters()], lr=3e-3)
for _ in range(12):
    crossings = torch.randn(10, 6, 8)
    joined = (crossings @ crossings.transpose(1, 2) > 0).float()
    loss = nn.functional.mse_loss(head(gathers(crossings, joined)), joined.sum(-1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
