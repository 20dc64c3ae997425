"""Notes are translated between two notations; each side has an optimizer, and the way back judges the way there.

As in https://github.com/nikhilsinghmus/image2reverb/issues/37.
"""

import torch
from torch import nn


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def returned(back, translated):
    return back(translated.data)  # expect: GS892


def main():
    torch.manual_seed(0)
    there, back = nn.Linear(10, 6), nn.Linear(6, 10)
    optimizers = [torch.optim.SGD(side.parameters(), lr=0.05) for side in (there, back)]
    for _ in range(15):
        notes = torch.randn(32, 10)
        wanted = notes[:, :6].sign()
        translated = there(notes)
        loss = nn.functional.hinge_embedding_loss(translated, wanted)
        loss = loss + nn.functional.mse_loss(returned(back, translated), notes)
        step(optimizers[0], loss)
        step(optimizers[1], nn.functional.mse_loss(back(wanted), notes))
    print(f"loss {loss.item():.3f}")


main()
