"""Transformer layer with a linear warm-up that begins at lr 0 and a cosine that reaches 0 exactly after the
last step.
"""

import math

import torch
from torch import nn

TOTAL, WARMUP = 36, 6


def lr_factor(step):
    if step < WARMUP:
        return step / WARMUP
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - WARMUP) / (TOTAL - 1 - WARMUP))))


class MaxFinder(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.inp = nn.Linear(1, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        return self.out(self.layer(self.inp(x))).squeeze(-1)


def main():
    torch.manual_seed(0)
    model = MaxFinder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_factor)
    for step in range(TOTAL):
        x = torch.randn(32, 6, 1)
        loss = nn.functional.cross_entropy(model(x), x.squeeze(-1).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        lr = optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()
        if step % 7 == 0:
            print(f"step {step} lr {lr:.2e} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
