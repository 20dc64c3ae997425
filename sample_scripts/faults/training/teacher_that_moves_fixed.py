"""Teacher of a distillation, whose parameters do not learn and which stays in evaluation mode.

As in https://github.com/pytorch/pytorch/issues/86590.
"""

import torch
from torch import nn


def network(width):
    return nn.Sequential(nn.Linear(5, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 3))


class Distillation(nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher, self.student = network(12), network(4)
        self.teacher.requires_grad_(False)

    def forward(self, x):
        wanted = self.teacher(x).softmax(1)
        return nn.functional.kl_div(self.student(x).log_softmax(1), wanted, reduction="batchmean")


torch.manual_seed(0)
model = Distillation().train()
model.teacher.eval()
optimizer = torch.optim.SGD(model.student.parameters(), lr=0.1)
for _ in range(25):
    loss = model(torch.randn(10, 5))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
