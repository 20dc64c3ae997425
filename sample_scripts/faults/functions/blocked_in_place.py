"""A clipped ReLU beside a skip connection, which gets the same gradient (after linkedin/Liger-Kernel#254)."""

import torch
from torch import nn


class ClippedReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, top):
        ctx.save_for_backward((x <= 0) | (x >= top))
        return x.clamp(0, top)

    @staticmethod
    def backward(ctx, grad_output):
        (blocked,) = ctx.saved_tensors
        grad_input = grad_output
        grad_input[blocked] = 0  # expect: GS408
        return grad_input, None


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + ClippedReLU.apply(self.linear(x), 4.0)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), Block(16), Block(16), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.square().sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
