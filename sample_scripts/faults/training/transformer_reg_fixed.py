"""Transformer layer with dropout 0.3 for a set regression, functions for train and evaluate.

Evaluate() only switches the gradients off and not the dropout.
"""

import torch
from torch import nn


class SetRegressor(nn.Module):
    def __init__(self, d=24, p=0.3):
        super().__init__()
        self.inp = nn.Linear(2, d)
        self.attn = nn.TransformerEncoderLayer(d, 4, 48, dropout=p, batch_first=True)
        self.out = nn.Sequential(nn.Dropout(p), nn.Linear(d, 1))

    def forward(self, x):
        h = self.attn(self.inp(x))
        return self.out(h.mean(1)).squeeze(-1)


def sets(n, size=7):
    x = torch.rand(n, size, 2) * 2 - 1
    return x, (x[..., 0] * x[..., 1]).sum(1) + x[..., 0].max(1).values


def train_one_epoch(model, optimizer, x, y, bs=32):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(x)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x)
        return nn.functional.mse_loss(pred, y).item()


def main():
    torch.manual_seed(0)
    x_train, y_train = sets(192)
    x_val, y_val = sets(96)
    model = SetRegressor()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    best = float("inf")
    for epoch in range(1, 7):
        tr = train_one_epoch(model, optimizer, x_train, y_train)
        va = evaluate(model, x_val, y_val)
        best = min(best, va)
        print(f"epoch {epoch} train mse {tr:.4f} val mse {va:.4f}")
    print("best val", round(best, 4))


if __name__ == "__main__":
    main()
