"""A student is distilled with kl_div of probabilities, after its teacher was trained in the same program."""

# as in https://github.com/microsoft/ProDA/issues/43
import torch
import torch.nn.functional as F
from torch import nn


def train_teacher(teacher, batches):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=0.01)
    for x, y in batches:
        loss = F.cross_entropy(teacher(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def distil(student, teacher, batches, temperature=2.0):
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for x, _ in batches:
        with torch.no_grad():
            wanted = F.softmax(teacher(x) / temperature, dim=1)
        given = F.softmax(student(x) / temperature, dim=1)  # expect: GS807
        loss = F.kl_div(given, wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
x = torch.randn(96, 6)
y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 1).long()
batches = list(zip(x.split(8), y.split(8), strict=True))
teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
train_teacher(teacher, batches)
distil(student, teacher, batches)
