"""Gradients of four small batches make one step.

As in https://github.com/huggingface/transformers/issues/1563.
"""

import torch
from torch import nn


def batches(count):
    for _ in range(count):
        x = torch.randn(8, 5)
        yield x, (x[:, :1] * 3 - x[:, 1:2]).tanh()


def train(model, optimizer, every):
    optimizer.zero_grad()
    for number, (x, y) in enumerate(batches(40), 1):
        loss = (model(x) - y).square().mean() / every
        loss.backward()
        if number % every == 0:
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()
            print(f"{number // every}: {loss.item():.4f}")


torch.manual_seed(0)
network = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
train(network, torch.optim.AdamW(network.parameters(), lr=0.01), 4)
