"""A warm-up for LambdaLR gives learning rates where factors are wanted: each is multiplied by the rate once more."""

# as in https://runebook.dev/en/docs/pytorch/generated/torch.optim.lr_scheduler.lambdalr
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

PEAK, WARM, STEPS = 3e-3, 4, 16


def rate(step):
    if step < WARM:
        return PEAK * (step + 1) / WARM
    return PEAK * (1 - (step - WARM) / STEPS)  # expect: GS809


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK)
schedule = LambdaLR(optimizer, rate)  # expect: GS809 declared_at
for _ in range(STEPS):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
