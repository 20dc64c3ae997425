"""Distilling a small student from a fixed teacher, the student loss bounces about.

Zero_grad is called on the teacher, not on the student.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def conv_net(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, width * 2, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width * 2, 5),
    )


def kd_loss(s, t, y, T=2.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(s / T, dim=1), F.softmax(t / T, dim=1), reduction="batchmean")
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(s, y)


def batches(n, size=32):
    for _ in range(n):
        y = torch.randint(0, 5, (size,))
        x = torch.randn(size, 1, 16, 16) * 0.5
        for k in range(size):
            c = int(y[k])
            x[k, 0, 3 * c : 3 * c + 3, :] += 1.5
        yield x, y


def main():
    teacher = conv_net(16)
    student = conv_net(6)

    opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for x, y in batches(12):
        opt_t.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt_t.step()
    teacher.eval()

    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    for step, (x, y) in enumerate(batches(24)):
        with torch.no_grad():
            t = teacher(x)
        s = student(x)
        loss = kd_loss(s, t, y)
        teacher.zero_grad()  # expect: GS801
        loss.backward()
        opt.step()
        if step % 6 == 0:
            acc = (s.argmax(1) == y).float().mean().item()
            print(f"step {step:2d} kd loss {loss.item():.4f} student acc {acc:.2f}")


main()
