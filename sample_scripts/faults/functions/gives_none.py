"""A swish that saves memory: its backward computes the value again and derives that, and the layers before it rest.

As in https://github.com/pytorch/pytorch/issues/45405.
"""

import torch
from torch import nn


def swish(x, slope):
    return x * torch.sigmoid(slope * x)


class LeanSwish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return swish(x, slope)

    @staticmethod
    def backward(ctx, gradient):
        x, slope = ctx.saved_tensors
        again = swish(x, slope).requires_grad_()
        return torch.autograd.grad(again, (x, slope), gradient, allow_unused=True)  # expect: GS721


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(3, 32)
        self.slope = nn.Parameter(torch.ones(32))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(LeanSwish.apply(self.lift(x), self.slope))


def main(steps=30):
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        x = torch.randn(64, 3)
        loss = nn.functional.mse_loss(net(x), (x[:, :1] * x[:, 1:2]).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:2d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
