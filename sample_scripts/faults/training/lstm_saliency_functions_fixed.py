"""LSTM forecaster, every few steps I look which time step matters on held-out data.

The saliency pass in evaluate() does loss.backward() and fills the weights' grads too.

Related: https://github.com/fengxinjie/Transformer-OCR/issues/7
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.lin = nn.Linear(hidden, 1)

    def forward(self, seq):
        out, _ = self.lstm(seq)
        return self.lin(self.drop(out[:, -1]))


def waves(n, length=20):
    phase = torch.rand(n, 1) * 2 * math.pi
    t = torch.arange(length + 1).float() * 0.4
    s = torch.sin(t + phase) + 0.05 * torch.randn(n, length + 1)
    return s[:, :-1].unsqueeze(-1), s[:, -1:]


def train_steps(model, opt, n):
    model.train()
    for _ in range(n):
        x, y = waves(32)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return loss.item()


def evaluate(model, x, y):
    model.eval()
    x = x.clone().requires_grad_(True)
    loss = F.mse_loss(model(x), y)
    (grad,) = torch.autograd.grad(loss, x)
    saliency = grad.abs().mean(dim=(0, 2))
    return loss.item(), int(saliency.argmax())


torch.manual_seed(0)
model = Forecaster()
opt = torch.optim.RMSprop(model.parameters(), lr=5e-3)
xv, yv = waves(48)
for rnd in range(5):
    tr = train_steps(model, opt, 5)
    va, where = evaluate(model, xv, yv)
    print(f"round {rnd} train {tr:.4f} held-out {va:.4f} most important step {where}")
