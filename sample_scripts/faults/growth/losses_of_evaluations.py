"""Keeps a curve of the loss on held-out data, one point each epoch."""
# as in http://pytorch.org/docs/master/notes/faq.html

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.curves = {"held": []}

    def train(self):
        self.model.train()
        for _ in range(13):
            x = torch.randn(16, 5)
            loss = nn.functional.mse_loss(self.model(x), x.sum(1, keepdim=True))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def evaluate(self):
        self.model.eval()
        total = 0.0
        for _ in range(3):
            x = torch.randn(16, 5)
            total = total + nn.functional.mse_loss(self.model(x), x.sum(1, keepdim=True))
        self.curves["held"].append(total / 3)  # expect: GS742


torch.manual_seed(0)
trainer = Trainer()
for epoch in range(9):
    trainer.train()
    trainer.evaluate()
print([round(float(one), 1) for one in trainer.curves["held"]][-1] > 0)
