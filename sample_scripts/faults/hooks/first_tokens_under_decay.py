"""Language model with new tokens: a hook clears the gradient of the old ones, and the optimizer is handed a decay.

As in https://github.com/pytorch/pytorch/issues/38581.
"""

import torch
from torch import nn


class Words(nn.Module):
    def __init__(self, old, new):
        super().__init__()
        self.table = nn.Embedding(old + new, 8)
        self.out = nn.Linear(8, old + new)
        self.old = old
        self.table.weight.register_hook(self.only_new)

    def only_new(self, gradient):
        learned = torch.zeros_like(gradient, dtype=torch.bool)
        learned[self.old :] = True
        return gradient.masked_fill(~learned, 0.0)

    def forward(self, text):
        return self.out(self.table(text))


def trainer(model, rate, decay):
    return torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay)  # expect: GS874


torch.manual_seed(0)
model = Words(12, 4)
optimizer = trainer(model, 1e-2, 1e-3)
for _ in range(20):
    text = torch.randint(16, (6, 7))
    loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
