"""Fields seen from above: the weights of two losses are given to the optimizer of the counter.

As in https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/314.
"""

import torch
from torch import nn


class Fields(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.crop, self.yields = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, x):
        h = self.body(x).tanh()
        return self.crop(h), self.yields(h).squeeze(1)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Linear(6, 1)
        self.weights = nn.ParameterDict({"crop": torch.zeros(()), "yields": torch.zeros(())})

    def forward(self, x):
        return self.layers(x).squeeze(1)

    def together(self, crop, yields):
        losses = {"crop": crop, "yields": yields}
        return sum((-self.weights[name]).exp() * loss + self.weights[name] for name, loss in losses.items())


def optimizers(fields, counter):
    main = torch.optim.SGD(fields.parameters(), lr=0.05)
    return main, torch.optim.SGD(counter.parameters(), lr=0.05)  # expect: GS748


torch.manual_seed(0)
fields, counter = Fields(), Counter()
main, side = optimizers(fields, counter)
for _ in range(10):
    x = torch.randn(32, 6)
    crop, yields = fields(x)
    loss = counter.together(nn.functional.cross_entropy(crop, (x[:, 0] > 0).long()), (yields - x[:, 1]).square().mean())
    main.zero_grad()
    loss.backward()
    main.step()
    side.zero_grad()
    (counter(x) - x.sum(1)).square().mean().backward()
    side.step()
print(f"loss {loss.item():.3f}")
