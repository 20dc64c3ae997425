"""A training that stops and goes on: its best score is a number of numpy's, which torch.load does not make."""

# as in https://github.com/alex-petrenko/sample-factory/issues/313
import io

import numpy
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
kept = io.BytesIO()
history = []
for _ in range(4):
    x = torch.randn(8, 3)
    loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "best": numpy.min(history)}, kept)
kept.seek(0)
state = torch.load(kept)  # expect: GS859
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
