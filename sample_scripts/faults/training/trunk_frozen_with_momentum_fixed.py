"""Voices told apart: after 37 steps the trunk is frozen, and momentum moves it on.

As in https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740.
"""

import torch
from torch import nn


def hold(part):
    for weight in part.parameters():
        weight.requires_grad_(False)
        weight.grad = None


def main():
    torch.manual_seed(0)
    trunk, head = nn.Sequential(nn.Linear(12, 32), nn.ReLU()), nn.Linear(32, 3)
    model = nn.Sequential(trunk, head)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    centres = torch.randn(3, 12)
    for step in range(55):
        if step == 37:
            hold(trunk)
        speaker = torch.randint(0, 3, (32,))
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(centres[speaker] + torch.randn(32, 12)), speaker)
        loss.backward()
        optimizer.step()
        if step % 11 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
