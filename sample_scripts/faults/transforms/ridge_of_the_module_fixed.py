"""Functional training of a regressor with an explicit weight penalty.

As in https://github.com/pytorch/pytorch/issues/92295.
"""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value


class CurveNet(nn.Module):
    def __init__(self, n_in=12, width=64):
        super().__init__()
        self.hidden = nn.Linear(n_in, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))

    def penalty(self):
        return sum(p.pow(2).sum() for p in self.parameters())


class Objective:
    """Data misfit plus ridge term, as a function of a parameter dictionary."""

    def __init__(self, model, strength):
        self.model = model
        self.strength = strength

    def __call__(self, params, x, y):
        misfit = nn.functional.mse_loss(functional_call(self.model, params, (x,)), y)
        ridge = self.strength * sum(p.pow(2).sum() for p in params.values())
        return misfit + ridge, (misfit, ridge)


class MomentumSGD:
    def __init__(self, params, lr=0.05, momentum=0.9):
        self.lr, self.momentum = lr, momentum
        self.velocity = {name: torch.zeros_like(p) for name, p in params.items()}

    def apply(self, params, grads):
        updated = {}
        for name, param in params.items():
            self.velocity[name] = self.momentum * self.velocity[name] + grads[name]
            updated[name] = param - self.lr * self.velocity[name]
        return updated


def make_curve(n=60, seed=61):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=gen)
    clean = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2]
    return x, clean + 0.4 * torch.randn(n, 1, generator=gen), clean


def error_on_new_data(model, params, seed=62):
    x, _, clean = make_curve(400, seed)
    with torch.no_grad():
        return nn.functional.mse_loss(functional_call(model, params, (x,)), clean).item()


def main(steps=6):
    torch.manual_seed(15)
    x, y, _ = make_curve()
    model = CurveNet()
    params = {name: p.detach().clone() for name, p in model.named_parameters()}
    step_fn = grad_and_value(Objective(model, strength=5e-3), has_aux=True)
    optimizer = MomentumSGD(params)
    for step in range(steps):
        grads, (loss, (misfit, ridge)) = step_fn(params, x, y)
        params = optimizer.apply(params, grads)
        if step % 50 == 0:
            print(f"step {step:3d} loss {loss.item():.4f} misfit {misfit.item():.4f} ridge {ridge.item():.4f}")
    print("test error", round(error_on_new_data(model, params), 4))


if __name__ == "__main__":
    main()
