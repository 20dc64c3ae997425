"""Few-shot sine regression: meta-learned initialisation and per-tensor inner rates."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad

torch.manual_seed(17)


class SineTasks:
    def sample(self, shots=10, queries=20):
        amp = 0.5 + 2.5 * torch.rand(1)
        phase = math.pi * torch.rand(1)
        x = torch.rand(shots + queries, 1) * 6 - 3
        y = amp * torch.sin(x + phase)
        return (x[:shots], y[:shots]), (x[shots:], y[shots:])


class Regressor(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)


class MetaLearner(nn.Module):
    def __init__(self, model, inner_steps=3, inner_lr=0.05):
        super().__init__()
        self.model = model
        self.inner_steps = inner_steps
        self.rates = nn.ParameterList([nn.Parameter(torch.tensor(inner_lr)) for _ in model.parameters()])

    def task_loss(self, weights, x, y):
        return F.mse_loss(functional_call(self.model, weights, (x,)), y)

    def initial_weights(self):
        return {name: p.clone() for name, p in self.model.named_parameters()}

    def adapt(self, support):
        weights = self.initial_weights()
        for _ in range(self.inner_steps):
            grads = grad(self.task_loss)(weights, *support)
            weights = {
                name: w - rate * grads[name] for (name, w), rate in zip(weights.items(), self.rates, strict=True)
            }
        return weights

    def forward(self, support, query):
        return self.task_loss(self.adapt(support), *query)


def meta_train(steps=42, tasks_per_step=4):
    tasks = SineTasks()
    learner = MetaLearner(Regressor())
    optimizer = torch.optim.Adam(
        [
            {"params": learner.model.parameters(), "lr": 5e-3},
            {"params": learner.rates.parameters(), "lr": 1e-3},
        ]
    )
    for step in range(steps):
        losses = [learner(*tasks.sample()) for _ in range(tasks_per_step)]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0 or step == steps - 1:
            mean_rate = torch.stack([r.detach() for r in learner.rates]).mean().item()
            print(f"step {step:3d} query loss {loss.item():.4f} mean inner rate {mean_rate:.4f}")


if __name__ == "__main__":
    meta_train()
