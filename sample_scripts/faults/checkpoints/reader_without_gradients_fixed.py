"""Tracks of ships: words of a track are read by a frozen reader after a while, which runs without gradients inside.

As in https://discuss.pytorch.org/t/training-with-gradient-checkpoints-torch-utils-checkpoint-appears-to-reduce-performance-of-model/78102.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

FROZEN_FROM = 4
torch.manual_seed(0)
places = nn.Embedding(20, 8)
reader = nn.GRU(8, 8, batch_first=True)
port = nn.Linear(8, 3)


def read(track, learns):
    with torch.set_grad_enabled(True):
        states, _ = reader(track)
        return states[:, -1]


optimizer = torch.optim.Adam([*places.parameters(), *reader.parameters(), *port.parameters()], lr=0.01)
for epoch in range(7):
    for batch in torch.randint(20, (4, 16, 5)):
        seen = checkpoint(read, places(batch), epoch < FROZEN_FROM, use_reentrant=True)
        loss = nn.functional.cross_entropy(port(seen), batch[:, 0] % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
