"""Letters and their replies are matched by two encoders, which helpers put to rest and back for held out ones.

As in https://github.com/fartashf/vsepp/issues/4.
"""

import torch
from torch import nn
from torch.nn import functional as F


def encoder(width):
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 8))


class Archive:
    def __init__(self):
        self.letters, self.replies = encoder(24), encoder(16)
        parameters = [*self.letters.parameters(), *self.replies.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=0.005)

    def switch(self, learning):
        """The mode of both."""
        for part in (self.letters, self.replies):
            if learning:
                part.train()
            else:
                part.eval()

    def rest(self):
        self.switch(False)

    def scores(self, letters, replies):
        return self.letters(letters) @ self.replies(replies).t()

    def learn(self, letters, replies):
        loss = F.cross_entropy(self.scores(letters, replies), torch.arange(len(letters)))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def matched(self, letters, replies):
        self.rest()
        with torch.no_grad():
            best = self.scores(letters, replies).argmax(1)
        self.switch(True)
        return (best == torch.arange(len(letters))).float().mean().item()


def mail(n):
    letters = torch.randn(n, 12)
    return letters, letters.flip(1) + 0.1 * torch.randn(n, 12)


torch.manual_seed(0)
held_out, archive = mail(32), Archive()
archive.switch(True)
for week in range(24):
    loss = archive.learn(*mail(24))
    if week % 8 == 7:
        print(f"{week}: {loss:.3f}, {archive.matched(*held_out):.2f} matched")
