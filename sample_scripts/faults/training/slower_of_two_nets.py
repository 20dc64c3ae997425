"""Learns from two views of a signal: a frozen net of its class teaches; train() is told the student alone.

As in https://github.com/pytorch/pytorch/issues/86590.
"""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, signal):
        return self.layers(signal)


def main():
    torch.manual_seed(0)
    student, teacher = Net(), Net()
    teacher.load_state_dict(student.state_dict())
    for weight in teacher.parameters():
        weight.requires_grad = False  # expect: GS872
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    student.train()
    for step in range(20):
        signal = torch.randn(24, 6)
        wanted = teacher(signal + 0.1 * torch.randn(24, 6))
        loss = (student(signal + 0.1 * torch.randn(24, 6)) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
