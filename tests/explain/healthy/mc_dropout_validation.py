"""Monte-Carlo dropout.

In validation the dropout layers are kept active on purpose and 20 forward passes are averaged for mean and
spread.
"""

import torch
from torch import nn


def build():
    return nn.Sequential(
        nn.Linear(1, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(48, 48),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(48, 1),
    )


def enable_dropout(model):
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


def mc_predict(model, x, n_samples=20):
    model.eval()
    enable_dropout(model)
    with torch.no_grad():
        preds = torch.stack([model(x) for _ in range(n_samples)])
    return preds.mean(0), preds.std(0)


def main():
    torch.manual_seed(0)
    x = torch.rand(160, 1) * 4 - 2
    y = x.pow(3) / 4 + 0.1 * torch.randn_like(x)
    x_val = torch.linspace(-3, 3, 40)[:, None]
    y_val = x_val.pow(3) / 4
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(7):
        model.train()
        for idx in torch.randperm(160).split(32):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        mean, std = mc_predict(model, x_val)
        mse = nn.functional.mse_loss(mean, y_val).item()
        print(f"epoch {epoch} train {loss.item():.4f} mc val mse {mse:.4f} mean std {std.mean().item():.4f}")


if __name__ == "__main__":
    main()
