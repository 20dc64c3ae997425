"""An in-place activation as a Function that forgets to mark its input."""

import torch
from torch import nn


class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.clamp_(min=0)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * (out > 0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return InplaceRelu.apply(self.layer(x))


torch.manual_seed(0)
model = nn.Sequential(Block(), Block(), nn.Linear(3, 1))
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    model(batch).square().mean().backward()
print(model[0].layer.weight.grad.shape)
