"""Made-up voices: a coder hides who speaks from a listener; a loop gives both their turns.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/591.
"""

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as wrong


class Voices(nn.Module):
    def __init__(self):
        super().__init__()
        self.coder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 4))
        self.reader = nn.Linear(4, 1)
        self.listener = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))

    def hides(self, x, word, speaker):
        code = self.coder(x)
        return wrong(self.reader(code), word) - 0.5 * wrong(self.listener(code), speaker)

    def hears(self, x, word, speaker):
        return wrong(self.listener(self.coder(x).detach()), speaker)


def batches(count):
    for _ in range(count):
        x = torch.randn(32, 10)
        yield x, (x[:, :1] > 0).float(), (x[:, 1:2] + 0.5 * x[:, :1] > 0).float()


def train(voices):
    speakers = torch.optim.Adam([*voices.coder.parameters(), *voices.reader.parameters()], lr=4e-3)
    turns = ((speakers, voices.hides), (torch.optim.RMSprop(voices.listener.parameters(), lr=2e-3), voices.hears))
    for batch in batches(40):
        for optimizer, loss in turns:
            loss(*batch).backward()
            optimizer.step()
            optimizer.zero_grad()  # expect: GS849


torch.manual_seed(0)
train(Voices())
