"""A kiln's firing curve is fitted by an optimizer around another one, whose slow weights go the wrong way.

As in https://github.com/ostris/ai-toolkit/issues/1034.
"""

import torch
from torch import nn


class Slow(torch.optim.Optimizer):
    def __init__(self, inner, every=3, share=0.5):
        self.inner, self.every, self.share, self.count = inner, every, share, 0
        super().__init__(inner.param_groups, {})

    @torch.no_grad()
    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.count += 1
        for group in self.param_groups:
            for fast in group["params"]:
                state = self.state[fast]
                if "slow" not in state:
                    state["slow"] = torch.empty_like(fast)
                    state["slow"].copy_(fast)  # expect: GS907 made_at
                if self.count % self.every == 0:
                    slow = state["slow"]
                    slow += self.share * (slow - fast)  # expect: GS907
                    fast.data.copy_(slow)
        return loss


torch.manual_seed(0)
hours = torch.linspace(0, 1, 80).unsqueeze(1)
heat = 1 - (2 * hours - 1) ** 4
curve = nn.Sequential(nn.Linear(1, 24), nn.SiLU(), nn.Linear(24, 1))
optimizer = Slow(torch.optim.SGD(curve.parameters(), lr=0.05, momentum=0.5))
for step in range(24):
    optimizer.zero_grad()
    loss = (curve(hours) - heat).square().mean()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 4))
