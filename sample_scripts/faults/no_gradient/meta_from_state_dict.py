"""Meta-learning whose fast weights start from what state_dict() gives: values without their graph.

As in https://github.com/KanishJebaMathewM/Truxify/issues/13118.
"""

import torch
from torch import nn
from torch.func import functional_call


class Learner:
    def __init__(self, model, rate=0.05):
        self.model, self.rate = model, rate
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def begin(self):
        state = self.model.state_dict()  # expect: GS724
        return {name: value.clone().requires_grad_() for name, value in state.items()}

    def adapted(self, x, y):
        fast = self.begin()
        for _ in range(2):
            loss = nn.functional.mse_loss(functional_call(self.model, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {name: one - self.rate * g for (name, one), g in zip(fast.items(), grads, strict=True)}
        return fast

    def step(self):
        self.optimizer.zero_grad()
        losses = []
        for _ in range(4):
            slope = torch.randn(1)
            x, new = torch.randn(8, 1), torch.randn(8, 1)
            fast = self.adapted(x, slope * x)
            losses.append(nn.functional.mse_loss(functional_call(self.model, fast, (new,)), slope * new))
        loss = torch.stack(losses).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
learner = Learner(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
for _ in range(20):
    loss = learner.step()
print(f"{loss:.3f}")
