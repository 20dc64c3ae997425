"""An ensemble is stacked first, and its optimizer is given the stack."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)


class Ensemble:
    def __init__(self, size):
        self.members = [nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in range(size)]
        self.weights, self.buffers = stack_module_state(self.members)
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=1e-2)

    def one(self, weights, buffers, inputs):
        return functional_call(self.members[0], (weights, buffers), (inputs,))

    def step(self, inputs, wanted):
        predictions = vmap(self.one, in_dims=(0, 0, None))(self.weights, self.buffers, inputs)
        loss = (predictions.squeeze(-1) - wanted).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


ensemble = Ensemble(4)
for _ in range(15):
    inputs = torch.randn(32, 5)
    loss = ensemble.step(inputs, inputs[:, 0] * inputs[:, 1])
print(f"loss {loss:.3f}")
