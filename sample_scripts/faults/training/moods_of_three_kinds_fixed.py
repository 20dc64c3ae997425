"""Judges a message by a mood of 0, 1 or 2; the loss is for one of two kinds.

As in https://github.com/pytorch/pytorch/issues/110865.
"""

import torch
from torch import nn


def make():
    return nn.Sequential(nn.EmbeddingBag(50, 12), nn.ReLU(), nn.Linear(12, 1))


def train(network, messages, moods, epochs):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(epochs):
        for rows in torch.randperm(len(messages)).split(32):
            scores = network(messages[rows]).squeeze(1)
            loss = nn.functional.binary_cross_entropy_with_logits(scores, (moods[rows] > 1).float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{loss.item():.3f}")


torch.manual_seed(2)
messages = torch.randint(50, (128, 9))
moods = messages.float().mean(1).div(17).long().clamp(max=2)
train(make(), messages, moods, 4)
