"""Springs of unlike stiffness, learned by adapting to each: what is adapted keeps its graph.

As in https://github.com/facebookresearch/higher/issues/69.
"""

import torch
from torch import nn
from torch.func import functional_call


class Adapter:
    def __init__(self, model, rate=0.05):
        self.model, self.rate = model, rate
        self.optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def adapted(self, pulled, force):
        fast = {name: one.clone() for name, one in self.model.named_parameters()}
        for _ in range(2):
            loss = nn.functional.mse_loss(functional_call(self.model, fast, (pulled,)), force)
            slopes = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {name: one - self.rate * g for (name, one), g in zip(fast.items(), slopes, strict=True)}
        return fast

    def step(self):
        stiffness, pulled, more = torch.rand(1) * 4, torch.randn(10, 1), torch.randn(10, 1)
        fast = self.adapted(pulled, -stiffness * pulled)
        loss = nn.functional.mse_loss(functional_call(self.model, fast, (more,)), -stiffness * more)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
adapter = Adapter(nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)))
for _ in range(15):
    loss = adapter.step()
print(f"loss {loss:.3f}")
