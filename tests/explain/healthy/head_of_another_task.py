"""An encoder is pretrained with a head that its next task does not call; the optimizer holds all of it."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.lm = nn.Sequential(nn.Linear(6, 12), nn.Tanh()), nn.Linear(12, 6)

    def predict(self, x):
        return self.lm(self.body(x))


class Classifier(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(12, 2)

    def forward(self, x):
        return self.head(self.encoder.body(x))


torch.manual_seed(0)
model = Classifier(Encoder())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(8, 6)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
