"""Calls of whales, old hydrophone and new: the ear is held still by factors of zero, and momentum moves it on.

As in https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740.
"""

import torch
from torch import nn


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.ear = nn.Sequential(nn.Conv1d(1, 6, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4))
        self.names = nn.Linear(24, 3)

    def forward(self, sound):
        return self.names(self.ear(sound).flatten(1))


def calls(kind, noise):
    pitch = torch.tensor([0.2, 0.5, 0.9])[kind]
    return torch.sin(torch.arange(40) * pitch[:, None])[:, None] + noise * torch.randn(len(kind), 1, 40)


def main():
    torch.manual_seed(0)
    model = Listener()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(44):
        is_new = step >= 21
        kind = torch.randint(0, 3, (24,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(calls(kind, 0.4 if is_new else 0.1)), kind)
        loss.backward()
        for name, weight in model.named_parameters():
            if is_new and name.startswith("ear"):
                weight.grad *= 0.0  # expect: GS708
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 11 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
