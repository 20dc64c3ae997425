"""Augmentation of features begins with the fourth epoch, in numpy."""

import numpy as np
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(5, 16), nn.GELU())
        self.trunk = nn.Linear(16, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, x, augment):
        h = self.stem(x)
        if augment:
            noise = rng.normal(scale=0.01, size=h.shape).astype("float32")
            h = h + torch.from_numpy(noise)
        return self.out(torch.relu(self.trunk(h)))


rng = np.random.default_rng(0)
torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
total = 0.0
for epoch in range(6):
    for _ in range(11):
        x, y = torch.randn(8, 5), torch.randint(2, (8,))
        loss = nn.functional.cross_entropy(model(x, augment=epoch > 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
print(f"{total / 66:.4f}")
