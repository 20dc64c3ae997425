"""The temperature of a contrastive loss is logged with its gradient; the logits took its value only."""

import torch
from torch import nn


class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 8), nn.Linear(6, 8)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, y):
        left, right = nn.functional.normalize(self.left(x)), nn.functional.normalize(self.right(y))
        return left @ right.T * self.scale.exp().item()  # expect: GS719


def describe(model):
    return {name: one.grad.norm().item() for name, one in model.named_parameters()}


torch.manual_seed(0)
model = Contrast()
x = torch.randn(16, 6)
loss = nn.functional.cross_entropy(model(x, x + 0.1 * torch.randn_like(x)), torch.arange(16))
loss.backward()
print(describe(model)["scale"] != 0)
