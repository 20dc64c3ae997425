"""How fast the energy of springs changes with their stiffness, which a custom Function gets as an argument."""

import torch
from torch.func import jvp

stretch = torch.tensor([0.1, 0.4, 0.2])


class Energy(torch.autograd.Function):
    @staticmethod
    def forward(stretch, stiffness):
        return 0.5 * stiffness * stretch.square()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent, change):
        stretch, stiffness = ctx.saved_tensors
        return stiffness * stretch * tangent + 0.5 * change * stretch.square()


def energy(stiffness):
    return Energy.apply(stretch, stiffness.exp()).sum()


stiffness, direction = torch.tensor([2.0, 1.0, 4.0]), torch.ones(3)
for _ in range(3):
    value, change = jvp(energy, (stiffness,), (direction,))
    stiffness = stiffness - change * direction
print(value.item(), change.item())
