"""An ensemble under vmap that ran as long as it was evaluated, and raises when it is to be trained."""
# as in https://github.com/pytorch/rl/issues/1935

import torch
from torch import nn
from torch.func import functional_call, stack_module_state


class Ensemble:
    def __init__(self, count):
        members = [nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.1), nn.ReLU(), nn.Linear(8, 1)) for _ in range(count)]
        self.parameters, self.buffers = stack_module_state(members)
        self.base = members[0]
        self.run = torch.vmap(self.one, in_dims=(0, 0, None), randomness="different")

    def one(self, parameters, buffers, inputs):
        return functional_call(self.base, (parameters, buffers), (inputs,))

    def __call__(self, inputs):
        return self.run(self.parameters, self.buffers, inputs)


torch.manual_seed(0)
ensemble = Ensemble(4)
inputs, targets = torch.randn(16, 3), torch.randn(16, 1)
ensemble.base.eval()
print("spread before", ensemble(inputs).std(0).mean().item())
ensemble.base.train()
optimizer = torch.optim.Adam(list(ensemble.parameters.values()), lr=0.01)
for _ in range(5):
    loss = (ensemble(inputs) - targets).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
