"""Each parameter is stepped in a hook as soon as its gradient is there, and the gradient zeroed for the next step."""

import torch
from torch import nn

torch.manual_seed(0)
layers = nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)
net = nn.Sequential(*layers)
optimizers = {one: torch.optim.SGD([one], lr=0.05) for one in net.parameters()}


def step_now(parameter):
    optimizers[parameter].step()
    parameter.grad.zero_()


for each in net.parameters():
    each.register_post_accumulate_grad_hook(step_now)
first = None
for _ in range(40):
    x = torch.randn(16, 4)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    loss.backward()
    first = first or loss.item()
print(loss.item() < first)
