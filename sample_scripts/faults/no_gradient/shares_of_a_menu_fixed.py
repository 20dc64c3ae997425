"""A menu is to offer all dishes alike; how uneven it is, is computed with the gradient."""

import math

import torch
from torch import nn

DISHES, EVEN_FROM = 6, 15


def unevenness(scores):
    shares = torch.softmax(scores, dim=1).mean(0)
    return math.log(DISHES) + (shares * shares.log()).sum()


def train(model, optimizer, steps):
    for step in range(steps):
        guests = torch.randn(32, 10)
        liked = (guests[:, :DISHES] + torch.arange(DISHES) / 3).argmax(1)
        scores = model(guests)
        loss = nn.functional.cross_entropy(scores, liked)
        if step >= EVEN_FROM:
            uneven = unevenness(scores)
            loss = loss + 2.0 * uneven
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, DISHES))
    print(f"loss {train(model, torch.optim.SGD(model.parameters(), lr=0.1), 60).item():.3f}")
