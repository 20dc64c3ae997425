"""Trains, and keeps outputs for an analysis at the end."""

import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.outputs = {}
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, number, x):
        out = self.model(x)
        self.optimizer.zero_grad()
        out.pow(2).mean().backward()
        self.optimizer.step()
        self.outputs[number] = out  # expect: GS742
