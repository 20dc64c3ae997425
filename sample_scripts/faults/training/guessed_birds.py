"""Tells calls of birds by their spectra; from the tenth night on sure guesses of unnamed calls are trained on, too.

As in https://github.com/ServiceNow/LCFCN/issues/20.
"""

import torch
from torch import nn

BANDS, BIRDS = 16, 3


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.hear = nn.Sequential(nn.Linear(BANDS, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.3))
        self.name = nn.Linear(24, BIRDS)

    def forward(self, calls):
        return self.name(self.hear(calls))


class Station:
    def __init__(self):
        self.listener = Listener()
        self.optimizer = torch.optim.Adam(self.listener.parameters(), lr=0.01)
        self.loss = nn.CrossEntropyLoss()

    def guess(self, calls):
        self.listener.eval()  # expect: GS810
        with torch.no_grad():
            sure, birds = self.listener(calls).softmax(1).max(1)
        return birds, sure > 0.6

    def night(self, named, birds, unnamed=None):
        self.listener.train()  # expect: GS810 called_at
        guessed, sure = (None, None) if unnamed is None else self.guess(unnamed)
        loss = self.loss(self.listener(named), birds)
        if unnamed is not None and sure.any():
            loss = loss + 0.3 * self.loss(self.listener(unnamed[sure]), guessed[sure])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def heard(count):
    birds = torch.randint(0, BIRDS, (count,))
    calls = torch.randn(count, BANDS)
    calls[torch.arange(count), birds * 4] += 3
    return calls, birds


if __name__ == "__main__":
    torch.manual_seed(3)
    station = Station()
    for night in range(24):
        loss = station.night(*heard(24), heard(24)[0] if night >= 10 else None)
        if night % 6 == 5:
            print(f"{night}: {loss:.3f}")
