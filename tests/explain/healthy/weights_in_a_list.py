"""Weights of one's own in a list, of which the last one rests in this run; the others learn."""

import torch

torch.manual_seed(0)
weights = [torch.randn(6, 3, requires_grad=True), *(torch.zeros(n, requires_grad=True) for n in ((3, 2), 6))]
optimizer = torch.optim.SGD(weights, lr=0.05)
for _ in range(12):
    x = torch.randn(16, 6)
    predicted = (x + 0.0 * weights[2]) @ weights[0] @ weights[1]
    loss = (predicted - x[:, :2]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
