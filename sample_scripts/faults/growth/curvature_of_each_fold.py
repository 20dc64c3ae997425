"""The curvature of a model is noted after each fold, by a backward whose gradients keep their graph.

As in https://github.com/pytorch/pytorch/issues/1346.
"""

import torch
from torch import nn

FOLDS, STEPS = 14, 11


def fit(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def curvature(model, x, y):
    parameters = list(model.parameters())
    model.zero_grad()
    nn.functional.mse_loss(model(x), y).backward(create_graph=True)  # expect: GS743
    signs = [torch.randint_like(one, 2) * 2 - 1 for one in parameters]
    products = torch.autograd.grad([one.grad for one in parameters], parameters, signs)
    return sum((one * sign).sum().item() for one, sign in zip(products, signs, strict=True))


def main():
    torch.manual_seed(0)
    x = torch.randn(84, 5)
    y = torch.tanh(x[:, :1]) + 0.1 * torch.randn(84, 1)
    folds = torch.arange(84) % FOLDS
    for fold in range(FOLDS):
        model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
        fit(model, x[folds != fold], y[folds != fold])
        print(f"fold {fold} curvature {curvature(model, x[folds == fold], y[folds == fold]):.3f}")


if __name__ == "__main__":
    main()
