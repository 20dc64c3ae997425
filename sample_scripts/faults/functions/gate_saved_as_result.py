"""A Function that saves a gate which it computed, under a second derivative (pytorch/pytorch issue 23108)."""

import torch
from torch import nn

torch.manual_seed(0)


class SoftGate(torch.autograd.Function):
    """x * tanh(x) that keeps the tangent."""

    @staticmethod
    def forward(ctx, x):
        gate = torch.tanh(x)
        ctx.save_for_backward(x, gate)  # expect: GS763
        return x * gate

    @staticmethod
    def backward(ctx, grad):
        x, gate = ctx.saved_tensors
        return grad * (gate + x * (1 - gate.square()))


class Solution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(1, 24), nn.Linear(24, 1)

    def forward(self, t):
        return self.last(SoftGate.apply(self.first(t)))


solution = Solution()
optimizer = torch.optim.Adam(solution.parameters(), lr=1e-2)
for step in range(20):
    t = torch.rand(32, 1).requires_grad_()
    u = solution(t)
    slope = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    bend = torch.autograd.grad(slope.sum(), t, create_graph=True)[0]
    start = solution(torch.zeros(1, 1)) - 1.0
    loss = (bend + u).square().mean() + start.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
