"""Low-rank fine-tuning of a frozen noise predictor.

https://github.com/PixArt-alpha/PixArt-alpha/pull/160
"""

import torch
import torch.nn.functional as F
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.05)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_a.t()) @ self.lora_b.t()


class NoisePredictor(nn.Module):
    def __init__(self, dim=16, width=64):
        super().__init__()
        self.inp = nn.Linear(dim + 1, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, dim)

    def forward(self, x, t):
        h = F.gelu(self.inp(torch.cat([x, t], -1)))
        return self.out(F.gelu(self.mid(h)))


def inject(model, rank):
    for name in ("inp", "mid", "out"):
        setattr(model, name, LoRALinear(getattr(model, name), rank))
    return model


def batch(step, g, dim=16, n=32):
    x = torch.randn(n, dim, generator=g) * 0.3 + 1.0
    if step == 41:
        x = x * 45
    t = torch.rand(n, 1, generator=g)
    noise = torch.randn(n, dim, generator=g)
    return (1 - t) * x + t * noise, t, noise


def main(steps=24, max_grad_norm=0.5, lr=0.05):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(2)
    model = inject(NoisePredictor(), rank=4)
    lora_layers = filter(lambda p: p.requires_grad, model.parameters())  # expect: GS824
    optimizer = torch.optim.SGD(lora_layers, lr=lr, momentum=0.9)
    seen = []
    for step in range(steps):
        x, t, noise = batch(step, g)
        loss = F.mse_loss(model(x, t), noise)
        loss.backward()
        params_to_clip = lora_layers
        torch.nn.utils.clip_grad_norm_(params_to_clip, max_grad_norm)  # expect: GS824 called_at
        optimizer.step()
        optimizer.zero_grad()
        seen.append(loss.item())
        if step % 10 == 9:
            print(f"step {step:3d} loss {loss.item():.4f}")
    print(f"mean of the last five {sum(seen[-5:]) / 5:.4f}")


if __name__ == "__main__":
    main()
