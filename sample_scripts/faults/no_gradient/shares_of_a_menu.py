"""A menu is to offer all dishes alike; how uneven it is, is summed up from lists. As in https://github.com/Wuziyi616/multi_part_assembly/issues/4."""

import math

import torch
from torch import nn

DISHES, EVEN_FROM = 6, 15


def unevenness(scores):
    rows = torch.softmax(scores, dim=1).tolist()  # expect: GS841
    shares = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return math.log(DISHES) + sum(share * math.log(share) for share in shares)


def train(model, optimizer, steps):
    for step in range(steps):
        guests = torch.randn(32, 10)
        liked = (guests[:, :DISHES] + torch.arange(DISHES) / 3).argmax(1)
        scores = model(guests)
        loss = nn.functional.cross_entropy(scores, liked)
        if step >= EVEN_FROM:
            uneven = torch.tensor(unevenness(scores))  # expect: GS841 made_at
            loss = loss + 2.0 * uneven  # expect: GS841 called_at
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, DISHES))
    print(f"loss {train(model, torch.optim.SGD(model.parameters(), lr=0.1), 60).item():.3f}")
