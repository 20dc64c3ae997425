"""Residual network whose copy is put into bfloat16 to adapt it: most of what its steps add is rounded away.

As in https://github.com/meta-pytorch/torchtune/issues/2254: elements near zero move, those of the norms never do.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.wide, self.narrow = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.narrow(torch.tanh(self.wide(self.norm(x))))


def model_of(dim=24, classes=4):
    return nn.Sequential(nn.Linear(8, dim), Block(dim), Block(dim), nn.LayerNorm(dim), nn.Linear(dim, classes))


def train(model, steps, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    for step in range(1, steps + 1):
        x = torch.randn(64, 8)
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x).float(), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    return model


torch.manual_seed(0)
base = train(model_of(), 20, 3e-3)
train(copy.deepcopy(base), 40, 2e-5)
