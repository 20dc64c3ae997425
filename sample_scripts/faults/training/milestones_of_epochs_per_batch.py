"""Forecast with milestones in epochs, where the function for a batch steps the schedule.

As in https://github.com/Lornatang/SRGAN-PyTorch/issues/1.
"""

import torch
from torch import nn

CONFIG = {"epochs": 12, "milestones": [4, 8], "rate": 0.05}


def made(model, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config["rate"])
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=config["milestones"], gamma=0.1)

    def update(x, y):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()  # expect: GS809
        return loss.item()

    return update, schedule


torch.manual_seed(0)
model = nn.Linear(3, 1)
update, schedule = made(model, CONFIG)
for _ in range(CONFIG["epochs"]):
    for _ in range(10):
        x = torch.randn(8, 3)
        loss = update(x, x.sum(1, keepdim=True))
print(f"{loss:.3f}")
