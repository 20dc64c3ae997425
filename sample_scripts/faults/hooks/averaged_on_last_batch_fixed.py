"""Gradients of four small batches are averaged by a hook that acts in the last of them."""

import torch
from torch import nn


class Averaged(nn.Module):
    def __init__(self, module, batches):
        super().__init__()
        self.module, self.batches, self.is_last = module, batches, False
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(self.average)

    def forward(self, x):
        return self.module(x)

    def average(self, parameter):
        if self.is_last:
            parameter.grad /= self.batches


torch.manual_seed(0)
model = Averaged(nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)), 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
inputs, labels = torch.randn(48, 6), torch.randint(3, (48,))
for _ in range(3):
    optimizer.zero_grad()
    for number, (x, y) in enumerate(zip(inputs.split(12), labels.split(12), strict=True)):
        model.is_last = number == 3
        nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
