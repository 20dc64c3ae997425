"""Classes are added, and a stale list of parameters is optimised on (huggingface/transformers pull 3532).

What the old classifier got last is never cleared, so that the optimizer goes on to step it.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = nn.Linear(16, classes)

    def grow(self, more):
        wider = nn.Linear(16, self.head.out_features + more)
        with torch.no_grad():
            wider.weight[: self.head.out_features] = self.head.weight
        self.head = wider  # expect: GS727

    def forward(self, x):
        return self.head(self.body(x).relu())


centres, model = torch.randn(7, 8), Classifier(3)
trained = list(model.parameters())
optimizer = torch.optim.SGD(trained, lr=0.1)
for task in range(3):
    if task:
        model.grow(2)
        optimizer = torch.optim.SGD(trained, lr=0.1 / (task + 1))
    for step in range(21):
        labels = torch.randint(0, model.head.out_features, (32,))
        loss = F.cross_entropy(model(centres[labels] + 0.4 * torch.randn(32, 8)), labels)
        model.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
