"""Vectors whose elements are added up: the sum is a mean, belongs to no sample, or goes into no sum of the loss."""

import torch
from torch import nn

SAMPLES = 12


def penalised(model, x):
    """One penalty of each layer, and as many layers as samples."""
    penalties = torch.stack([layer.weight.square().sum() for layer in model])
    return (error(model, x) + sum(penalties)).mean()


def penalised_rows(model, x):
    """One penalty of each unit of a layer, and as many units as samples."""
    penalties = model[0].weight.square().sum(dim=1)
    return (error(model, x) + sum(penalties)).mean()


def averaged(model, x):
    """What is added up was divided by the number of samples."""
    lengths = model(x).square().sum(dim=1) / len(x)
    return (error(model, x) + sum(lengths)).mean()


def relative(model, x):
    """Each sample's score is compared with those of the others."""
    scores = model(x)[:, 0]
    others = sum(scores) - model(x)[:, 1]
    return (scores * others.detach()).mean() + others.square().mean()


def added_to_the_mean(model, x):
    lengths = 0.1 * model(x).square().sum(dim=1)
    return error(model, x).mean() + sum(lengths)


def of_units(model, x):
    """What is added up are rows: there is a sum for each unit, and as many units as samples."""
    made = model(x)
    return (sum(made) - made.abs().sum(dim=1)).mean()


def error(model, x):
    return (model(x) - x).abs().sum(dim=1)


torch.manual_seed(0)
for loss_of in (penalised, penalised_rows, averaged, relative, added_to_the_mean, of_units):
    model = nn.Sequential(*(nn.Linear(SAMPLES, SAMPLES) for _ in range(SAMPLES)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(8):
        loss = loss_of(model, torch.randn(SAMPLES, SAMPLES))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss_of.__name__}: {loss.item():.3f}")
