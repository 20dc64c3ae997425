"""A Function's own rule for vmap calls it again, in the first thing that the program does."""

import torch


class SquaredSum(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return (x * x).sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad.unsqueeze(-1)

    @staticmethod
    def vmap(info, in_dims, x):
        return SquaredSum.apply(x.movedim(in_dims[0], 0)), 0


torch.manual_seed(0)
print(torch.func.vmap(torch.func.grad(SquaredSum.apply))(torch.randn(5, 3)).norm().item())
weight = torch.randn(3, requires_grad=True)
SquaredSum.apply(weight).backward()
