"""An optimizer around another one, as Lookahead is: both hold the same parameters, and one steps the other."""

import torch
from torch import nn


class Lookahead(torch.optim.Optimizer):
    def __init__(self, inner, every=4, share=0.5):
        self.inner, self.every, self.share, self.count = inner, every, share, 0
        super().__init__(inner.param_groups, {})
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["slow"] = parameter.detach().clone()

    @torch.no_grad()
    def step(self, closure=None):
        self.inner.step()
        self.count += 1
        if self.count % self.every:
            return
        for group in self.param_groups:
            for parameter in group["params"]:
                slow = self.state[parameter]["slow"]
                slow.lerp_(parameter, self.share)
                parameter.copy_(slow)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = Lookahead(torch.optim.Adam(model.parameters(), lr=0.02))
x = torch.randn(128, 6)
y = torch.sin(x.sum(1, keepdim=True))
for _ in range(40):
    batch = torch.randint(0, len(x), (32,))
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[batch]), y[batch])
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
