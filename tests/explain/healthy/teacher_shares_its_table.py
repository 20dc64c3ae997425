"""A slow teacher of a tagger of words, which shares the frozen table of words with the student: one loop averages all.

A snapshot of the weights is mixed with them at times, and all are shrunk: no average is of the weights themselves.
"""

import copy

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.read = table, nn.GRU(8, 12, batch_first=True)
        self.tags = nn.Linear(12, 4)

    def forward(self, words):
        return self.tags(self.read(self.table(words))[0])


@torch.no_grad()
def follow(teacher, student, pace):
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.mul_(1 - pace).add_(pace * fast)


@torch.no_grad()
def mix(student, before):
    for now, then in zip(student.parameters(), before, strict=True):
        now.mul_(0.5).add_(0.5 * then)
        now.add_(0.01 * (then - now))


torch.manual_seed(0)
table = nn.Embedding(30, 8).requires_grad_(False)
student = Tagger(table)
teacher = copy.deepcopy(student)
teacher.table = table
settings = copy.copy({"pace": 0.05})
optimizer = torch.optim.SGD([one for one in student.parameters() if one.requires_grad], lr=0.2)
before = [one.detach().clone() for one in student.parameters()]
for step in range(20):
    words = torch.randint(30, (16, 6))
    with torch.no_grad():
        target = teacher(words).softmax(-1)
    told = student(words)
    loss = nn.functional.cross_entropy(told.flatten(0, 1), (words % 4).flatten())
    loss = loss + 0.3 * nn.functional.cross_entropy(told.flatten(0, 1), target.flatten(0, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow(teacher, student, settings["pace"])
    if step % 5 == 4:
        mix(student, before)
        before = [one.detach().clone() for one in student.parameters()]
    if step % 7 == 6:
        with torch.no_grad():
            for one in student.parameters():
                one.mul_(0.999)
