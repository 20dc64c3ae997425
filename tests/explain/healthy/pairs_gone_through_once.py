"""A copy is paired with a model by zip(), to be set to it once, before the training; later it follows otherwise."""

import copy

import torch
from torch import nn


class SlowCopy:
    """Follows a model at a distance."""

    def __init__(self, model, rate=0.05):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.rate = rate
        self.pairs = zip(self.model.parameters(), model.parameters(), strict=True)

    @torch.no_grad()
    def set(self):
        for slow, fast in self.pairs:
            slow.copy_(fast)

    @torch.no_grad()
    def follow(self, model):
        for slow, fast in zip(self.model.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, self.rate)

    @torch.no_grad()
    def target(self, x):
        return self.model(x)


def fit(model, teacher, generator, steps=60):
    teacher.set()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        x = torch.randn(32, 4, generator=generator)
        noisy = x + 0.1 * torch.randn(32, 4, generator=generator)
        loss = nn.functional.mse_loss(model(noisy), x.sum(1, keepdim=True))
        loss = loss + 0.1 * nn.functional.mse_loss(model(noisy), teacher.target(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        teacher.follow(model)
        if step % 20 == 19:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    fit(model, SlowCopy(model), torch.Generator().manual_seed(1))


if __name__ == "__main__":
    main()
