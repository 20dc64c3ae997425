"""A mean teacher of a convolutional net, whose weights alone are averaged; the teacher is in evaluation mode."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
teacher = copy.deepcopy(student).requires_grad_(False).eval()
optimizer = torch.optim.SGD(student.parameters(), 0.05)
for _ in range(10):
    images, labels = torch.randn(8, 1, 8, 8) * 3 + 2, torch.randint(3, (8,))
    with torch.no_grad():
        soft = teacher(images + 0.1 * torch.randn_like(images)).softmax(-1)
    logits = student(images)
    loss = nn.functional.cross_entropy(logits, labels) + (logits.softmax(-1) - soft).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for averaged, current in zip(teacher.parameters(), student.parameters(), strict=True):  # expect: GS834
            averaged.mul_(0.9).add_(current, alpha=0.1)
print(f"{loss.item():.3f}")
