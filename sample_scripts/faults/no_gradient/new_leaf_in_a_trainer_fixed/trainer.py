"""Fits a classifier."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(self, x, y):
        logits = self.model(x)
        return nn.functional.cross_entropy(logits, y)

    def fit(self, batches, epochs):
        for _ in range(epochs):
            for x, y in batches:
                self.optimizer.zero_grad()
                self.step(x, y).backward()
                self.optimizer.step()
