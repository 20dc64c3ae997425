"""Look at gradients in each step with a helper that hooks a model for one backward."""

import torch
from probe import gradients_of
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    loss = model(batch).square().mean()
    with gradients_of(model[2]) as seen:
        optimizer.zero_grad()
        loss.backward()
    optimizer.step()
    print(len(seen))
