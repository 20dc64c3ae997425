"""A new head that begins with zeros is ranked by a hinge at a rate that is still next to zero, as in a warm-up."""

import torch
from torch import nn


def train(model, loss_of, rate, steps, generator):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        loss = loss_of(torch.randn(32, 4, generator=generator), torch.randn(32, 4, generator=generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    body, coder = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 4)
    train(nn.Sequential(body, coder), lambda x, _: (coder(body(x)) - x).square().sum(1).mean(), 0.05, 8, generator)
    head = nn.Linear(8, 1)
    nn.init.zeros_(head.weight)

    def ranked(x, y):
        better, worse = (x.sum(1) > y.sum(1)).float(), (x.sum(1) <= y.sum(1)).float()
        return torch.relu((worse - better) * (head(body(x)) - head(body(y)))[:, 0] + 0.5).mean()

    train(head, ranked, 1e-5, 12, generator)
    print(f"largest weight of the head {head.weight.abs().max().item():.1e}")


if __name__ == "__main__":
    main()
