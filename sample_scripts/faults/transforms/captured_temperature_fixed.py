"""The gradient of a temperature that a custom Function gets as an argument."""

import torch
from torch.func import grad

scores = torch.tensor([[2.0, 1.0, 0.5], [0.2, 0.1, 3.0]])
labels = torch.tensor([0, 2])


class Tempered(torch.autograd.Function):
    @staticmethod
    def forward(scores, temperature):
        return scores / temperature

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        scores, temperature = ctx.saved_tensors
        return gradient / temperature, -(gradient * scores).sum() / temperature**2


def loss(log_temperature):
    return torch.nn.functional.cross_entropy(Tempered.apply(scores, log_temperature.exp()), labels)


log_temperature = torch.zeros(())
for _ in range(3):
    log_temperature = log_temperature - 0.5 * grad(loss)(log_temperature)
print(log_temperature.item())
