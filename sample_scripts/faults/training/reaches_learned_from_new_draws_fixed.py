"""Where the hand of an arm with two joints is: each epoch draws new angles and trains on.

As in https://github.com/alan-turing-institute/deepsensor/issues/47.
"""

import torch
from torch import nn

ARM = (1.0, 0.7)


def reach(count):
    angles = 6.28 * torch.rand(count, 2)
    both = angles.cumsum(1)
    length = torch.tensor(ARM)
    return angles, torch.stack([(length * both.cos()).sum(1), (length * both.sin()).sum(1)], 1)


def train_epoch(model, optimizer, batches):
    model.train()
    total = 0.0
    for _ in range(batches):
        angles, hand = reach(32)
        loss = nn.functional.mse_loss(model(angles), hand)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / batches


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 24), nn.SiLU(), nn.Linear(24, 2))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    errors = []
    for epoch in range(5):
        errors.append(train_epoch(model, optimizer, 6))
        print(epoch, round(errors[-1], 4))


main()
