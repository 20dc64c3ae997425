"""Classifier whose warm-up and decay count optimizer steps, but the schedule is stepped once an epoch."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

EPOCHS, BATCHES = 5, 16
TOTAL, WARM_UP = EPOCHS * BATCHES, 20


def factor(step):
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return max(0.0, (TOTAL - step) / (TOTAL - WARM_UP))


def build():
    model = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Linear(40, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4, momentum=0.9)
    return model, optimizer, LambdaLR(optimizer, factor)


def train():
    torch.manual_seed(1)
    model, optimizer, schedule = build()
    centers = torch.randn(3, 10)
    for epoch in range(EPOCHS):
        for _ in range(BATCHES):
            label = torch.randint(3, (24,))
            loss = nn.functional.cross_entropy(model(centers[label] + torch.randn(24, 10)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    train()
