"""Two orchestras are to sound alike: a tuner moves the one toward the other, as a listener hears it.

As in https://github.com/guopengf/FL-MRCM/issues/10.
"""

import torch
from torch import nn

WEIGHT = 0.3


def play(count):
    return torch.randn(count, 6), torch.randn(count, 6) * 1.4 + 0.5


def main():
    torch.manual_seed(0)
    tuner, hears, says = nn.Linear(6, 6), nn.Linear(6, 8), nn.Linear(8, 1)
    listens = nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*tuner.parameters(), *hears.parameters(), *says.parameters()], lr=0.01)
    listening = torch.optim.Adam(listens.parameters(), lr=0.01)
    for step in range(24):
        near, far = play(32)
        sound, other = torch.tanh(hears(near)), torch.tanh(hears(tuner(far)))
        told = (says(sound) - near.mean(1, keepdim=True)).square().mean()
        apart = nn.functional.softplus(-listens(other)).mean()
        loss = told + WEIGHT * apart
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        kept, moved = sound.detach(), other.detach()
        judged = nn.functional.softplus(-listens(kept)) + nn.functional.softplus(listens(moved))
        listening.zero_grad()
        judged.mean().backward()
        listening.step()
        if step % 8 == 7:
            print(f"{step}: {told.item():.4f} {apart.item():.4f}")


main()
