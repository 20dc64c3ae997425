"""Three tasks share a body; each task's gradient is to be kept small.

As in https://github.com/huggingface/transformers/issues/1563.
"""

import torch
from torch import nn

TASKS = ("near", "far", "both")


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(24, 1) for task in TASKS})

    def forward(self, x, task):
        return self.heads[task](self.body(x))


def target(x, task):
    return {"near": x[:, :1], "far": 10 * x[:, 1:2], "both": x[:, :1] - x[:, 1:2]}[task]


def main():
    torch.manual_seed(0)
    model = Heads()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(30):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        for task in TASKS:
            loss = nn.functional.mse_loss(model(x, task), target(x, task))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: GS827
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
