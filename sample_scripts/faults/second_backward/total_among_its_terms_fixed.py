"""The total is noted among the terms that the next total is summed from. As in https://github.com/jcjohnson/densecap/pull/33."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model, self.terms = model, {}
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def total(self, x):
        given = self.model(x)
        self.terms["fit"] = (given - x.sum(1, keepdim=True)).square().mean()
        self.terms["size"] = 0.01 * given.abs().mean()
        return sum(one for name, one in self.terms.items() if name != "skipped")

    def note(self, step, total):
        print(f"total {total.item():.3f}")
        print(step, {name: round(float(one), 3) for name, one in self.terms.items()})

    def run(self, steps):
        for step in range(1, steps + 1):
            total = self.total(torch.randn(32, 4))
            self.optimizer.zero_grad()
            total.backward()
            self.optimizer.step()
            if step % 25 == 0:
                self.note(step, total)


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))).run(60)
