"""Stochastic weight averaging with torch.optim.swa_utils, SWALR schedule and update_bn at the end."""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x[:, 0] * x[:, 1] > 0).long()
    loader = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=40, shuffle=True)

    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    swa_model = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
    swa_start = 5

    for epoch in range(9):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
        if epoch >= swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {accuracy(model, x[160:], y[160:]):.3f}")

    update_bn(loader, swa_model)
    print("swa acc", round(accuracy(swa_model, x[160:], y[160:]), 3))


if __name__ == "__main__":
    main()
