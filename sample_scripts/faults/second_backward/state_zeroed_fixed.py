"""A network with a state that is set to zero before each sequence, and fails at the second one."""
# as in https://github.com/synsense/sinabs/issues/5

import torch
from torch import nn


class Leaky(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("charge", torch.zeros(4, width))

    def forward(self, x):
        self.charge = 0.9 * self.charge + torch.tanh(x)
        return self.charge

    def reset(self):
        self.charge = torch.zeros_like(self.charge)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.leaky, self.head = nn.Linear(2, 8), Leaky(8), nn.Linear(8, 2)

    def forward(self, sequence):
        for x in sequence:
            out = self.head(self.leaky(self.encode(x)))
        return out


torch.manual_seed(0)
model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(6):
    sequence, label = torch.randn(5, 4, 2), torch.randint(0, 2, (4,))
    model.leaky.reset()
    loss = nn.functional.cross_entropy(model(sequence), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
