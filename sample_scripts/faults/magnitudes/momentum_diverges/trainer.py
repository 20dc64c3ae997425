"""A small training loop."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.99)  # expect: GS737
        x = torch.randn(32, 3) * 5
        self.loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)

    def fit(self, epochs):
        for _ in range(epochs):
            for x, y in self.loader:
                loss = nn.functional.mse_loss(self.model(x), y)
                self.update(loss)
        return loss.item()

    def update(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()  # expect: GS737 called_at
