"""A Hessian-vector product through a gate that is computed once, in the forward."""

import torch


class Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * torch.sigmoid(x * w)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        gate = torch.sigmoid(x * w)
        slope = gate * (1 - gate)
        return grad * (gate + x * w * slope), grad * x * x * slope


x = torch.tensor([0.5, -1.0], requires_grad=True)
w = torch.tensor([2.0, 3.0], requires_grad=True)
out = Gated.apply(x, w).sum()
(first,) = torch.autograd.grad(out, x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
print(second)
