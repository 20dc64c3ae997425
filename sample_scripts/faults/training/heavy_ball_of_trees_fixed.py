"""Heights of trees are learned from their trunks with a heavy ball by hand, which rolls along the last slope.

As in https://discuss.pytorch.org/t/why-do-we-need-to-set-the-gradients-manually-to-zero-in-pytorch/4903.
"""

import torch
from torch import nn


class HeavyBall:
    def __init__(self, parameters, rate, keeps):
        self.parameters = list(parameters)
        self.speeds = [torch.zeros_like(one) for one in self.parameters]
        self.rate, self.keeps = rate, keeps

    @torch.no_grad()
    def update(self):
        slopes = [one.grad for one in self.parameters]
        torch._foreach_mul_(self.speeds, self.keeps)
        torch._foreach_add_(self.speeds, slopes)
        torch._foreach_sub_(self.parameters, torch._foreach_mul(self.speeds, self.rate))
        torch._foreach_zero_(slopes)


torch.manual_seed(0)
trunks = torch.rand(128, 4)
heights = (3 * trunks[:, :1].sqrt() + trunks[:, 1:2] * trunks[:, 2:3]).tanh()
model = nn.Sequential(nn.Linear(4, 12), nn.SiLU(), nn.Linear(12, 1))
ball = HeavyBall(model.parameters(), rate=0.01, keeps=0.5)
for _ in range(6):
    for part in torch.randperm(len(trunks)).split(32):
        loss = nn.functional.smooth_l1_loss(model(trunks[part]), heights[part])
        loss.backward()
        ball.update()
    print(f"{loss.item():.4f}")
