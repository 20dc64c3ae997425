"""A hooked convolution whose output the forward rectifies in place."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Conv1d(2, 3, 3)

    def forward(self, x):
        out = self.mix(x)
        return out.relu()


torch.manual_seed(0)
model = Block()
model.mix.register_full_backward_hook(lambda module, grad_input, grad_output: None)
model(torch.randn(2, 2, 8)).sum().backward()
print(model.mix.weight.grad.shape)
