"""A critic of sketches with an activation by hand, whose slope is held near one: the penalty takes a second derivative.

As in https://github.com/pytorch/pytorch/issues/58509.
"""

import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = x.sigmoid()
        ctx.save_for_backward(gate * (1 + x * (1 - gate)))  # expect: GS205
        return x * gate

    @staticmethod
    def backward(ctx, gradient):
        (slope,) = ctx.saved_tensors
        return gradient * slope  # expect: GS205 used_at


class Critic(nn.Module):
    def __init__(self, strokes=6):
        super().__init__()
        self.look, self.judge = nn.Linear(strokes, 24), nn.Linear(24, 1)

    def forward(self, sketches):
        return self.judge(Swish.apply(self.look(sketches)))


def penalty(critic, drawn, made):
    mixed = torch.lerp(drawn, made, torch.rand(len(drawn), 1)).requires_grad_()
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def main(rounds=12):
    torch.manual_seed(0)
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(rounds):
        drawn, made = torch.randn(32, 6) + 1, torch.randn(32, 6)
        loss = critic(made).mean() - critic(drawn).mean() + 10 * penalty(critic, drawn, made)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
