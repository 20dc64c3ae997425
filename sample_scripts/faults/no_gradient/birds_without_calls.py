"""A detector of calls in the sound of a wood: a batch in which no bird calls has a loss of its own.

As in https://github.com/RangiLyu/nanodet/issues/7.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
draws = torch.Generator().manual_seed(1)

detector = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(detector.parameters(), lr=0.01)


def losses(scores, calls):
    if not calls.any():
        return torch.tensor(0.0), torch.tensor(0.0)  # expect: GS721
    loudness = F.mse_loss(scores[calls, 1], calls[calls].float())
    return F.binary_cross_entropy_with_logits(scores[:, 0], calls.float()), loudness


shown = []
for step in range(25):
    sound = torch.randn(8, 12, generator=draws)
    calls = sound[:, 0] > (9.0 if step == 21 else 0.0)
    found, loud = losses(detector(sound), calls)
    loss = found + 0.5 * loud
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shown.append(loss.item())
print(shown[-1])
