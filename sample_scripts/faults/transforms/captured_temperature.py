"""The gradient of a temperature that a custom Function reads from around it."""

import torch
from torch.func import grad

scores = torch.tensor([[2.0, 1.0, 0.5], [0.2, 0.1, 3.0]])
labels = torch.tensor([0, 2])


def loss(log_temperature):
    temperature = log_temperature.exp()

    class Tempered(torch.autograd.Function):
        @staticmethod
        def forward(scores):
            return scores / temperature  # expect: GS221

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.temperature = temperature

        @staticmethod
        def backward(ctx, gradient):
            return gradient / ctx.temperature

    return torch.nn.functional.cross_entropy(Tempered.apply(scores), labels)


log_temperature = torch.zeros(())
for _ in range(3):
    log_temperature = log_temperature - 0.5 * grad(loss)(log_temperature)  # expect: GS221 cause_at
print(log_temperature.item())
