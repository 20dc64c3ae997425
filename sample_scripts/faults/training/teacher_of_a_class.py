"""A student of spectra that is to stay near its teacher; the teacher is an attribute.

As in https://github.com/datawhalechina/easy-rl/pull/117.
"""

import copy

import torch
from torch import nn


class Distilled:
    def __init__(self, student):
        self.student = student
        self.teacher = student  # expect: GS896
        self.optimizer = torch.optim.SGD(student.parameters(), lr=0.05)

    def step(self, spectra, kinds):
        scores = self.student(spectra)
        loss = nn.functional.cross_entropy(scores, kinds)
        loss = loss + nn.functional.kl_div(scores.log_softmax(-1), self.taught(spectra), reduction="batchmean")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def taught(self, spectra):
        return self.teacher(spectra).softmax(-1)


torch.manual_seed(1)
student = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(40, 3))
pretrained = copy.deepcopy(student)
distilled = Distilled(pretrained)
for _ in range(10):
    loss = distilled.step(torch.randn(24, 1, 12), torch.randint(3, (24,)))
print(f"{loss:.3f}")
