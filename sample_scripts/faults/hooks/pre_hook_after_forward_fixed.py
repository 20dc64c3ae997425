"""A pre hook on the whole model, put in place once the first loss is known."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x).exp()


def report(module, grad_output):
    print("gradient", grad_output[0].norm().item())


torch.manual_seed(0)
model = Model()
model.register_full_backward_pre_hook(report)
loss = model(torch.randn(3, 2)).sum()
if loss > 0:
    print("positive")
loss.backward()
