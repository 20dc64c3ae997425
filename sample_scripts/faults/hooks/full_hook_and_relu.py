"""A full backward hook on a layer before an activation that works in place."""

import torch
from torch import nn


def report(module, grad_input, grad_output):
    print("gradient", grad_output[0].norm().item())


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))  # expect: GS754
model[0].register_full_backward_hook(report)  # expect: GS754 registered_at
loss = model(torch.randn(5, 3)).sum()  # expect: GS754 fails_at
loss.backward()
