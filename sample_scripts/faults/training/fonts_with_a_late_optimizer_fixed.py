"""Letters of two fonts: a head learns alone for a while, then the features follow with an optimizer of their own.

As in https://discuss.pytorch.org/t/best-practice-for-freezing-layers/58156.
"""

import torch
from torch import nn

WARM_UP, STEPS = 10, 30


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(36, 20), nn.ReLU())
        self.letters = nn.Linear(20, 5)

    def forward(self, pixels):
        return self.letters(self.features(pixels))


def train(model, pixels, letters):
    active = [torch.optim.Adam(model.letters.parameters(), lr=0.01)]
    for step in range(STEPS):
        if step == WARM_UP:
            active.append(torch.optim.SGD(model.features.parameters(), lr=0.1))
        loss = nn.functional.cross_entropy(model(pixels), letters)
        loss.backward()
        for optimizer in active:
            optimizer.step()
        model.zero_grad()
    return loss.item()


torch.manual_seed(1)
shapes = torch.randn(5, 36)
letters = torch.randint(0, 5, (200,))
print(f"loss {train(Reader(), shapes[letters] + 0.4 * torch.randn(200, 36), letters):.4f}")
