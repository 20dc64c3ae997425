"""Two optimizers over the same parameters used in turn.

An Adam phase and an SGD phase alternate, only one of them steps per iteration.
"""

import torch
from torch import nn

torch.manual_seed(0)


class GRUCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.out(h[-1]).squeeze(1)


model = GRUCounter()
adam = torch.optim.Adam(model.parameters(), lr=1e-2)
sgd = torch.optim.SGD(model.parameters(), lr=5e-2)

for it in range(36):
    opt = adam if (it // 6) % 2 == 0 else sgd
    bits = (torch.rand(32, 9, 1) < 0.5).float()
    target = bits.sum((1, 2)) / 9
    loss = (model(bits) - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 6 == 5:
        print(f"it {it + 1} [{type(opt).__name__}] loss {loss.item():.5f}")
