"""A pupil segments rows of a field; its teacher takes over the weights after each season, and labels the next one.

Like in https://github.com/andri27-ts/Reinforcement-Learning/issues/14
"""

import torch
import torch.nn.functional as F
from torch import nn


def segmenter():
    return nn.Sequential(nn.Conv1d(2, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 3, 1))


class Seasons:
    def __init__(self):
        self.pupil, self.teacher = segmenter(), segmenter()
        self.teacher.load_state_dict(self.pupil.state_dict())
        self.optimizer = torch.optim.SGD(self.pupil.parameters(), lr=0.1)

    def season(self, known, labels, unknown):
        loss = F.cross_entropy(self.pupil(known), labels)
        with torch.no_grad():
            guessed = self.teacher(unknown).softmax(1)
        loss = loss + 0.1 * F.cross_entropy(self.pupil(unknown), guessed)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def end_of_season(self):
        self.teacher.load_state_dict(self.pupil.state_dict())
        self.teacher = self.pupil  # expect: GS830


def main():
    torch.manual_seed(0)
    seasons = Seasons()
    for season in range(4):
        for _ in range(8):
            rows = torch.randn(8, 2, 20)
            loss = seasons.season(rows, (rows[:, 0] > 0.5).long(), torch.randn(8, 2, 20))
        seasons.end_of_season()
        print(f"season {season}: {loss:.4f}")


main()
