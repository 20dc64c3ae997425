"""How fast the energy of springs changes with their stiffness, which a custom Function reads from outside."""

import torch
from torch.func import jvp

stretch = torch.tensor([0.1, 0.4, 0.2])
springs = {}


class Energy(torch.autograd.Function):
    @staticmethod
    def forward(stretch):
        return 0.5 * springs["stiffness"] * stretch.square()  # expect: GS221

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (stretch,) = ctx.saved_tensors
        return springs["stiffness"] * stretch * tangent


def energy(stiffness):
    springs["stiffness"] = stiffness.exp()
    return Energy.apply(stretch).sum()


stiffness, direction = torch.tensor([2.0, 1.0, 4.0]), torch.ones(3)
for _ in range(3):
    value, change = jvp(energy, (stiffness,), (direction,))  # expect: GS221 cause_at
    stiffness = stiffness - change * direction
print(value.item(), change.item())
