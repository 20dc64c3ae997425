"""Which chord follows: the table of chords that is read is to be the one that the next chord is scored with.

As in https://qa.1r1g.com/sf/ask/4055050961.
"""

import torch
from torch import nn

CHORDS, WIDTH = 24, 16


class Follower(nn.Module):
    def __init__(self):
        super().__init__()
        self.chords = nn.Embedding(CHORDS, WIDTH)
        self.song = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, CHORDS)
        self.out.weight = nn.Parameter(self.chords.weight.clone())  # expect: GS707

    def forward(self, played):
        return self.out(self.song(self.chords(played))[0])


def main(steps=30):
    torch.manual_seed(0)
    model = Follower()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        song = (torch.randint(CHORDS, (16, 1)) + 5 * torch.arange(9)) % CHORDS
        loss = nn.functional.cross_entropy(model(song[:, :-1]).flatten(0, 1), song[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: {loss.item():.3f}")


main()
