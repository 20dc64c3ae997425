"""A generator of sounds gives its convolutions small weights by apply(), after they were normalised in the older way.

As in https://github.com/pytorch/pytorch/issues/25092.
"""

import warnings

import torch
from torch import nn
from torch.nn.utils import weight_norm

warnings.simplefilter("ignore", FutureWarning)


def start_small(module):
    if isinstance(module, nn.Conv1d):
        module.weight.data.normal_(0.0, 0.01)  # expect: GS828


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = weight_norm(nn.Conv1d(1, 8, 5, padding=2))
        self.second = weight_norm(nn.Conv1d(8, 1, 5, padding=2))
        self.apply(start_small)

    def forward(self, x):
        return torch.tanh(self.second(torch.relu(self.first(x))))


if __name__ == "__main__":
    torch.manual_seed(0)
    generator = Generator()
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    for _ in range(12):
        sound = torch.randn(8, 1, 32).cumsum(2) * 0.1
        loss = (generator(sound) - sound).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
