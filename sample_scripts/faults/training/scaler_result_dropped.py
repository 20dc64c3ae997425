"""A Function hangs a balancing loss on the weights of a mixture's experts, and what it returns is not taken."""

import torch
from torch import nn


class HangOn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, loss):
        ctx.save_for_backward(loss)
        return values.view_as(values)

    @staticmethod
    def backward(ctx, grad):
        (loss,) = ctx.saved_tensors
        return grad, torch.ones_like(loss)


class Gate(nn.Module):
    def __init__(self, size, experts):
        super().__init__()
        self.score = nn.Linear(size, experts)

    def forward(self, x):
        shares = self.score(x).softmax(-1)
        weights, chosen = shares.topk(2, -1)
        load = nn.functional.one_hot(chosen, shares.shape[-1]).float().sum(1).mean(0)
        balance_loss = 0.05 * (load * shares.mean(0)).sum()
        HangOn.apply(weights, balance_loss)  # expect: GS841
        return weights, chosen


torch.manual_seed(0)
gate, experts = Gate(8, 4), nn.Parameter(0.1 * torch.randn(4, 8, 8))
optimizer = torch.optim.Adam([*gate.parameters(), experts], 1e-2)
for _ in range(15):
    x = torch.randn(32, 8)
    weights, chosen = gate(x)
    out = torch.einsum("bk,bkij,bj->bi", weights, experts[chosen], x)
    loss = (out - x.roll(1, -1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
