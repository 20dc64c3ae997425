"""A loss that is built once, before the loop that minimizes it."""

import torch

x = torch.tensor([3.0, -2.0], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
loss = (x * x).sum()  # expect: GS712
for _ in range(5):
    optimizer.zero_grad()
    loss.backward()  # expect: GS712 second_backward_at
    optimizer.step()
print("minimized")
