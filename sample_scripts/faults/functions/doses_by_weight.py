"""How long a drug works, from blood values: the learned dose per kilogram is multiplied by each patient's weight.

As in https://github.com/pytorch/pytorch/pull/132601.
"""

import torch
from torch import nn
from torch.autograd import Function


class ByWeight(Function):
    @staticmethod
    def forward(ctx, kilograms, per_kilogram):
        dose = kilograms * per_kilogram
        ctx.save_for_backward(kilograms)
        return dose

    @staticmethod
    def backward(ctx, grad_dose):
        [kilograms] = ctx.saved_tensors
        grad_per_kilogram = None
        if ctx.needs_input_grad[1]:
            grad_per_kilogram = grad_dose
        return None, grad_per_kilogram  # expect: GS918


def main():
    torch.manual_seed(2)
    blood = nn.Sequential(nn.Linear(3, 10), nn.ReLU(), nn.Linear(10, 1))
    optimizer = torch.optim.Adam(blood.parameters(), lr=0.01)
    for visit in range(15):
        values, kilograms = torch.rand(24, 3), 0.5 + 2 * torch.rand(24, 1)
        hours = kilograms * values.sum(1, keepdim=True).sqrt()
        loss = nn.functional.smooth_l1_loss(ByWeight.apply(kilograms, blood(values)), hours)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(visit, round(loss.item(), 3))


main()
