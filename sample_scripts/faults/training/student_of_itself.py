"""A small net learns from a large one: the part of the loss that compares the two is zero."""

import torch
from torch import nn
from torch.nn import functional as F


def data(count, seed):
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(count, 2, generator=generator) * 2 - 1
    return points, (points.prod(1) > 0).long()


def net(width):
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 2))


def train_teacher(points, labels):
    teacher = net(48)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=0.02)
    for _ in range(40):
        loss = F.cross_entropy(teacher(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return teacher.eval()


class Distiller:
    def __init__(self, teacher, student, temperature=2.0):
        self.teacher, self.student, self.temperature = teacher, student, temperature

    def loss(self, points, labels):
        with torch.no_grad():
            soft = self.teacher(points) / self.temperature
        logits = self.student(points)
        log_student = F.log_softmax(soft, dim=-1)
        apart = F.kl_div(log_student, soft.softmax(-1), reduction="batchmean")  # expect: GS723
        return apart + 0.3 * F.cross_entropy(logits, labels)


def main():
    torch.manual_seed(4)
    points, labels = data(256, 0)
    student = net(6)
    distiller = Distiller(train_teacher(points, labels), student)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
    for step in range(40):
        loss = distiller.loss(points, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
