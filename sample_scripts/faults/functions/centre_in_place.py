"""Rows that a Function centres in place, mapped over a batch by vmap."""

import torch


class CentreRow(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sub_(x.mean())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])  # expect: GS213

    @staticmethod
    def backward(ctx, grad):
        return grad - grad.mean()


rows = torch.randn(4, 3)
print(torch.func.vmap(lambda row: CentreRow.apply(row.clone()))(rows).shape)  # expect: GS213 fails_at
