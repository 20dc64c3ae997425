"""A loop with callbacks; one of them clears the gradients at the wrong time."""

import torch
from callbacks import Clear, Log
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
callbacks = [Log(), Clear(optimizer)]
for step in range(4):
    for callback in callbacks:
        callback.before_forward(step)
    loss = nn.functional.mse_loss(model(torch.randn(3, 4)), torch.zeros(3, 2))
    loss.backward()
    for callback in callbacks:
        callback.after_backward(step)
    optimizer.step()
