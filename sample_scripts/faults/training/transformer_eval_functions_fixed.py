"""Transformer layer for sequence sums.

Train() is only called before the first epoch, so after the first evaluate() with .eval() the dropout is off
for good.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SumFormer(nn.Module):
    def __init__(self, dim=32, drop=0.3):
        super().__init__()
        self.inp = nn.Linear(1, dim)
        self.enc = nn.TransformerEncoderLayer(dim, 4, 64, dropout=drop, batch_first=True)
        self.drop = nn.Dropout(drop)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.enc(self.inp(x.unsqueeze(-1)))
        return self.out(self.drop(h.mean(1))).squeeze(-1)


def batches(n, size=24, length=8):
    for _ in range(n):
        x = torch.rand(size, length) * 2 - 1
        yield x, x.sum(1)


def train_one_epoch(model, opt, n=6):
    model.train()
    total = 0.0
    for x, y in batches(n):
        loss = F.smooth_l1_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item() / n
    return total


def evaluate(model, held_out):
    model.eval()
    with torch.no_grad():
        return sum(F.smooth_l1_loss(model(x), y).item() for x, y in held_out) / len(held_out)


def main(epochs=5):
    torch.manual_seed(0)
    held_out = list(batches(2))
    model = SumFormer()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    best = float("inf")
    for epoch in range(epochs):
        tr = train_one_epoch(model, opt)
        va = evaluate(model, held_out)
        best = min(best, va)
        print(f"epoch {epoch} train {tr:.4f} held-out {va:.4f} best {best:.4f}")


if __name__ == "__main__":
    main()
