"""A model that collects what its steps return."""

import torch
from torch import nn


class LitModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 2)
        self.step_outputs = []

    def training_step(self, batch):
        loss = self.net(batch).pow(2).mean()
        self.step_outputs.append({"loss": loss.detach()})
        return loss


def fit(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        loss = model.training_step(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
