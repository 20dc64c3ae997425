"""A penalty on the curvature of a score with respect to its input."""

import torch
from curvature import curvature
from scores import Score


def main():
    torch.manual_seed(0)
    score = Score()
    optimizer = torch.optim.SGD(score.parameters(), lr=0.1)
    for step in range(2):
        x = torch.randn(8, 2, requires_grad=True)
        loss = score(x).square().mean() + 0.1 * curvature(score, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
