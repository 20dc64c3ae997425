"""Bottles by a fused optimizer whose scaler leaves out the first steps: under autocast, with weights in float32.

As in https://github.com/pytorch/ao/pull/1124.
"""

import torch
from torch import nn

HEIGHTS, KINDS = 20, 3


class Bottles(nn.Module):
    def __init__(self):
        super().__init__()
        self.outline = nn.Sequential(nn.Linear(HEIGHTS, 32), nn.GELU(), nn.Linear(32, 16), nn.GELU())
        self.kind = nn.Linear(16, KINDS)

    def forward(self, widths):
        return self.kind(self.outline(widths))


def belt(moulds, count):
    kind = torch.randint(KINDS, (count,))
    return moulds[kind] + 0.1 * torch.randn(count, HEIGHTS), kind


def main():
    torch.manual_seed(0)
    moulds, model = torch.rand(KINDS, HEIGHTS), Bottles()
    for weight in model.parameters():
        nn.init.constant_(weight, 0.3) if weight.dim() == 1 else nn.init.orthogonal_(weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler(moulds.device.type, init_scale=2.0**127)
    for shift in range(36):
        widths, kind = belt(moulds, 48)
        with torch.autocast(moulds.device.type, torch.bfloat16):
            told = model(widths)
        loss = nn.functional.cross_entropy(told.float(), kind, reduction="sum")
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if shift % 12 == 11:
            print(f"{shift + 1}: {loss.item() / 48:.4f}, scale {scaler.get_scale():.3g}")


main()
