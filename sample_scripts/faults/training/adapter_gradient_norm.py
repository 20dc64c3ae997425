"""Adapters on a frozen tower, whose logged gradient norm is 0.000 from the first step on."""
# as in https://github.com/PixArt-alpha/PixArt-alpha/pull/160

import torch
from torch import nn
from torch.nn import functional as F


class Adapted(nn.Module):
    def __init__(self, inner, rank=2):
        super().__init__()
        self.inner = inner
        self.down = nn.Linear(inner.in_features, rank, bias=False)
        self.up = nn.Linear(rank, inner.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.inner(x) + self.up(self.down(x))


def tower():
    model = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 24), nn.GELU(), nn.Linear(24, 3))
    model.requires_grad_(False)
    model[2] = Adapted(model[2])
    model[4].requires_grad_(True)
    return model


def norm_of(parameters):
    return sum((p.grad.norm() ** 2 for p in parameters if p.grad is not None), torch.zeros(())).sqrt().item()


def main():
    torch.manual_seed(0)
    model = tower()
    trained = filter(lambda p: p.requires_grad, model.parameters())  # expect: GS826
    optimizer = torch.optim.AdamW(trained, lr=3e-3)
    inputs = torch.randn(256, 6)
    labels = (inputs[:, 0] > 0).long() + (inputs[:, 1] > 0).long()
    for step in range(40):
        idx = torch.randint(0, len(inputs), (32,))
        loss = F.cross_entropy(model(inputs[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        norm = norm_of(trained)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f} gradient norm {norm:.3f}")


if __name__ == "__main__":
    main()
