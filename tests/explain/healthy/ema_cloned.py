"""Exponential moving average of the weights with cloned shadows, swapped in for the evaluation and out again."""

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.data.clone() for n, p in model.named_parameters()}
        self.backup = None

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @torch.no_grad()
    def swap_in(self, model):
        self.backup = {n: p.clone() for n, p in model.named_parameters()}
        for n, p in model.named_parameters():
            p.copy_(self.shadow[n])

    @torch.no_grad()
    def swap_out(self, model):
        for n, p in model.named_parameters():
            p.copy_(self.backup[n])
        self.backup = None


torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 1, 5, padding=2))
ema = EMA(net, 0.9)
opt = torch.optim.SGD(net.parameters(), lr=0.3)

t = torch.linspace(0, 6.28, 48)
clean = torch.sin(t + torch.rand(128, 1) * 6.28)[:, None]
noisy = clean + 0.5 * torch.randn_like(clean)

for step in range(40):
    idx = torch.randint(0, 96, (16,))
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(noisy[idx]), clean[idx])
    loss.backward()
    opt.step()
    ema.update(net)
    if step % 10 == 9:
        ema.swap_in(net)
        with torch.no_grad():
            val = nn.functional.mse_loss(net(noisy[96:]), clean[96:]).item()
        ema.swap_out(net)
        print(f"step {step + 1} train {loss.item():.4f} ema val {val:.4f}")
