"""EMA helper class around an MLP regressor.

The shadow is made of p.data without clone, so the average is the model itself and pulls it towards zero.
"""

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.9):
        self.model = model
        self.decay = decay
        self.shadow = {n: p.data for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    @torch.no_grad()
    def update(self):
        for n, p in self.model.named_parameters():
            if n in self.shadow:
                self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)  # expect: GS831

    @torch.no_grad()
    def apply(self):
        for n, p in self.model.named_parameters():
            self.backup[n] = p.clone()
            p.copy_(self.shadow[n])

    @torch.no_grad()
    def restore(self):
        for n, p in self.model.named_parameters():
            p.copy_(self.backup[n])


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
x = torch.linspace(-2, 2, 128)[:, None]
y = torch.sin(2 * x) + 0.3 * torch.randn_like(x)
model = Regressor()
ema = EMA(model)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)

for it in range(40):
    idx = torch.randint(0, 128, (32,))
    opt.zero_grad()
    loss = (model(x[idx]) - y[idx]).pow(2).mean()
    loss.backward()
    opt.step()
    ema.update()
    if it % 10 == 9:
        with torch.no_grad():
            raw = (model(x) - torch.sin(2 * x)).pow(2).mean().item()
            ema.apply()
            avg = (model(x) - torch.sin(2 * x)).pow(2).mean().item()
            ema.restore()
        print(f"it {it + 1}: train {loss.item():.4f} raw {raw:.4f} ema {avg:.4f}")
