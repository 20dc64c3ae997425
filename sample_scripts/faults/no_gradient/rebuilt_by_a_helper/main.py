"""A helper adapts the model to the data, after the optimizer was built."""

import torch
from model import Classifier
from torch import nn

torch.manual_seed(0)
model = Classifier(10)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.adapt(3)  # expect: GS727
for epoch in range(2):
    for _ in range(2):
        x, y = torch.randn(4, 6), torch.randint(3, (4,))
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
