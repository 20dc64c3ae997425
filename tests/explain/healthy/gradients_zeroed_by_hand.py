"""Gradients that a program sets to zero, where nothing moves that should rest: parts of them, steps without momentum,
weights that are put back or stepped by hand, turns, bad batches, stages that end, and gradients that are zeros anyway.
"""

import torch
from torch import nn

torch.manual_seed(0)
STEPS = 40


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.other, self.head = nn.Linear(5, 8), nn.Linear(5, 8), nn.Linear(8, 1)

    def forward(self, x, share=1.0):
        return self.head(torch.relu(self.trunk(x)) + share * torch.relu(self.other(x))).squeeze(1)


def train(hold, optimizer=torch.optim.Adam, after=None, share=None, **settings):
    """Train, and let `hold` see the model between each backward and its step."""
    model, slope = Scorer(), torch.randn(5)
    made = optimizer(model.parameters(), lr=1e-2, **settings)
    for step in range(STEPS):
        x = torch.randn(16, 5)
        loss = nn.functional.mse_loss(model(x, 1.0 if share is None else share(step)), x @ slope)
        for weight in model.parameters():
            if weight.grad is not None:
                weight.grad.zero_()  # the gradients of the step before
        loss.backward()
        hold(model, step)
        made.step()
        if after is not None:
            after(model)
    return loss.item()


def zero_columns(model, step):
    model.trunk.weight.grad[:, :2].zero_()


def masked(model, step):
    for weight in model.trunk.parameters():
        weight.grad *= (torch.arange(len(weight)) > 2).view(-1, *[1] * (weight.dim() - 1))


def zero_late(model, step):
    if step >= 12:
        for weight in model.trunk.parameters():
            weight.grad.zero_()


def zero_always(model, step):
    for weight in model.trunk.parameters():
        weight.grad.zero_()


def zero_by_turns(model, step):
    for weight in (model.trunk if step % 2 else model.other).parameters():
        weight.grad.zero_()


def zero_where_bad(model, step):
    if step == 32:
        for weight in model.parameters():
            weight.grad.zero_()


def zero_at_first(model, step):
    if step < 20:
        for weight in model.trunk.parameters():
            weight.grad.zero_()


def stepped_by_hand(model, step):
    with torch.no_grad():
        for weight in model.trunk.parameters():
            weight.add_(weight.grad, alpha=-0.05)
            weight.grad.zero_()


def scaled_by_hand(model, step):
    norm = sum(weight.grad.square().sum() for weight in model.parameters()).sqrt()
    for weight in model.parameters():
        weight.grad.mul_(torch.clamp(1 / norm, max=1.0))


def without_infinities(model, step):
    for weight in model.parameters():
        weight.grad = torch.where(torch.isfinite(weight.grad), weight.grad, torch.zeros_like(weight.grad))


def hooked_without_infinities(model, step):
    if step == 0:
        for weight in model.parameters():
            weight.register_hook(lambda slope: torch.where(slope.isfinite(), slope, torch.zeros_like(slope)))


def keeper():
    kept = {}

    def hold(model, step):
        if step >= 12:
            for weight in model.trunk.parameters():
                kept.setdefault(weight, weight.detach().clone())
                weight.grad.zero_()

    def put_back(model):
        with torch.no_grad():
            for weight, value in kept.items():
                weight.copy_(value)

    return hold, put_back


hold, put_back = keeper()
losses = [
    train(zero_columns),
    train(masked),
    train(zero_late, torch.optim.SGD),  # no momentum: nothing moves
    train(zero_always),  # nor does Adam, which has never seen a gradient of it
    train(zero_by_turns, torch.optim.SGD),
    train(zero_where_bad),
    train(zero_at_first),
    train(stepped_by_hand, torch.optim.SGD, momentum=0.5),
    train(scaled_by_hand, share=lambda step: 1.0 if step < 12 else 0.0),
    train(hold, after=put_back),
    train(without_infinities, share=lambda step: 1.0 if step < 12 else 0.0),
    train(without_infinities, torch.optim.AdamW, share=lambda step: 0.0),
    train(hooked_without_infinities, share=lambda step: 1.0 if step < 12 else 0.0),
    train(hooked_without_infinities, torch.optim.AdamW, share=lambda step: 0.0),
]
print(all(loss < 20 for loss in losses))
