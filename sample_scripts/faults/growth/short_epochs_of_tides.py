"""The tides of a harbour are learned in short epochs; what each batch gave is gathered for the score of the epoch.

The list begins anew in each epoch, and holds the graphs of all its batches until then.
As in https://github.com/jostmey/NakedAttention/issues/1.
"""

import torch
from torch import nn

BATCHES, SAMPLES = 9, 24


def hours(count):
    start = torch.rand(count, 1) * 50
    tide = torch.sin((start + torch.arange(12)) / 2)
    return tide[:, :-1], tide[:, -1:]


def epoch(network, optimizer, batches):
    gathered = []
    for seen, comes in batches:
        guess = network(seen)
        loss = nn.functional.mse_loss(guess, comes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gathered.append(guess - comes)  # expect: GS742
    return torch.cat(gathered).abs().mean().item()


def main():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(11, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    batches = [hours(SAMPLES) for _ in range(BATCHES)]
    for number in range(5):
        score = epoch(network, optimizer, batches)
        print(f"epoch {number}: off by {score:.3f}")


main()
