"""A painter learns colours; from the eighth lesson on a critic's praise joins its loss, which the critic forgets."""
# as in https://github.com/FoundationVision/OmniTokenizer/issues/15

import torch
from torch import nn


class Lesson:
    def __init__(self, late):
        self.painter = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
        self.critic = nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 1))
        self.paints = torch.optim.SGD(self.painter.parameters(), lr=0.05)
        self.judges = torch.optim.SGD(self.critic.parameters(), lr=0.05)
        self.count, self.late = 0, late

    def paint(self, light):
        picture = self.painter(light)
        loss = (picture - light[:, :4].abs()).square().mean()
        if self.count >= self.late:
            loss = loss - 0.1 * self.critic(picture).mean()
        self.paints.zero_grad()
        loss.backward()
        self.paints.step()
        return picture.detach()

    def judge(self, picture, model):
        self.judges.zero_grad()
        opinions = self.critic(torch.cat([picture, model]))
        truth = torch.cat([torch.zeros(len(picture), 1), torch.ones(len(model), 1)])
        nn.functional.binary_cross_entropy_with_logits(opinions, truth).backward()
        self.judges.step()

    def give(self, light):
        self.judge(self.paint(light), light[:, :4].abs())
        self.count += 1


torch.manual_seed(0)
lesson = Lesson(late=8)
for _ in range(40):
    lesson.give(torch.randn(16, 6))
