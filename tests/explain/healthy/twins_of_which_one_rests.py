"""Two nets of one class: one was looked at and is held, and the other gets gradients and is held by no optimizer.

A student was tried out first and learns; the teacher was never frozen, and what reaches it is left. A second student
was tried out too, and joins in later.
"""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def main():
    torch.manual_seed(0)
    early, late = Net(), Net()
    optimizer = torch.optim.SGD([*early.parameters(), *late.parameters()], lr=0.1)
    print(early(torch.randn(2, 4)).shape, late(torch.randn(2, 4)).shape)
    teacher = Net()
    for step in range(12):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(early(x), teacher(x))
        if step >= 6:
            loss = loss + nn.functional.mse_loss(late(x), early(x).detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
