"""Sorts letters by an attention over their words; what hides the padding is a number of the wrong sign.

As in https://github.com/awslabs/gluonts/pull/1401.
"""

import torch
from torch import nn

PADDING, WIDTH = 0, 16


def attended(query, key, value, words):
    scores = torch.matmul(query, key.transpose(-2, -1)) / WIDTH**0.5
    scores = scores.masked_fill(words[:, None, None] == PADDING, -1e9)
    return torch.matmul(torch.softmax(scores, dim=-1), value)


torch.manual_seed(1)
table, project, head = nn.Embedding(30, WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, 3)
optimizer = torch.optim.AdamW([p for part in (table, project, head) for p in part.parameters()], lr=2e-3)
for _ in range(15):
    words = torch.randint(1, 30, (20, 8)).masked_fill(torch.arange(8) >= torch.randint(3, 9, (20, 1)), PADDING)
    parts = project(table(words)).view(20, 8, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
    seen = attended(*parts, words).transpose(1, 2).reshape(20, 8, WIDTH)
    loss = nn.functional.cross_entropy(head(seen[:, 0]), words[:, 0] % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
