"""A loss that is built once, before the loop that minimizes it."""

import torch

x = torch.tensor([3.0, -2.0], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(5):
    loss = (x * x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("minimized")
