"""Parameters whose content is swapped for another: torch refuses it for tensors that anybody refers to weakly."""

import copy

import torch
from torch import nn

torch.__future__.set_swap_module_params_on_conversion(True)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model[0].weight.register_hook(lambda gradient: gradient * 2)


def step(dtype: torch.dtype) -> None:
    """One step of training."""
    loss = model(torch.ones(2, 4, dtype=dtype)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())


for _ in range(3):
    step(torch.float32)
kept = copy.deepcopy(model.state_dict())
model.double()
step(torch.float64)
model.float()
model.load_state_dict(kept)
step(torch.float32)

first, second = torch.ones(2), torch.zeros(3, requires_grad=True)
(second * 2).sum().backward()
second.grad = None
torch.utils.swap_tensors(first, second)
print(first, second)
