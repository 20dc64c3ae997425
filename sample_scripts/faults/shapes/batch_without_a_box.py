"""A detector's loss over the boxes of each picture; some batches of pictures show nothing."""
# as in https://github.com/ghimiredhikura/Complex-YOLOv3/issues/8

import torch
from torch import nn


def loss_of(boxes, targets):
    total = 0
    for box, target in zip(boxes, targets, strict=True):
        if target.numel():
            total = total + nn.functional.smooth_l1_loss(box, target)
    return total


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(9):
        pictures = torch.randn(4, 6)
        targets = [one[:4] if step != 5 else one[:0] for one in pictures]
        loss = loss_of(model(pictures), targets)
        optimizer.zero_grad()
        loss.backward()  # expect: GS866
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
