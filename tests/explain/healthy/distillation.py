"""Knowledge distillation.

A wide teacher is trained, then a small student learns its softened softmax as target plus the labels.
"""

import torch
import torch.nn.functional as F
from torch import nn


def mlp(h):
    return nn.Sequential(nn.Linear(10, h), nn.ReLU(), nn.Linear(h, 4))


def train_teacher(model, x, y, steps=20):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"teacher loss {loss.item():.4f}")


def distill(student, teacher, x, y, steps=20, T=3.0, alpha=0.7):
    teacher.eval()
    opt = torch.optim.Adam(student.parameters(), lr=2e-2)
    for step in range(steps):
        idx = torch.randint(0, len(x), (96,))
        with torch.no_grad():
            soft = F.softmax(teacher(x[idx]) / T, dim=1)
        logits = student(x[idx])
        kd = F.cross_entropy(logits / T, soft) * T * T
        hard = F.cross_entropy(logits, y[idx])
        loss = alpha * kd + (1 - alpha) * hard
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 4:
            agree = (logits.argmax(1) == soft.argmax(1)).float().mean().item()
            print(f"step {step + 1} loss {loss.item():.4f} agreement {agree:.3f}")


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 10)
    y = (x @ torch.randn(10, 4)).argmax(1)
    teacher, student = mlp(64), mlp(8)
    train_teacher(teacher, x, y)
    distill(student, teacher, x, y)


if __name__ == "__main__":
    main()
